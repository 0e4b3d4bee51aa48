import { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import type { Settlement, TokenClasses } from '../../metering/metering.types.js';
import { CANCELLED } from '../../metering/index.js';
import type { OperationEnding } from '../../metering/index.js';
import { classesTold, tokenClasses, UpstreamError } from '../../providers/index.js';
import { endingOf } from '../chat/settlement.js';
import { countDelivered } from '../chat/tokens.js';
import { brokenClasses, inChatWords, wholeTokens } from '../chat/usage.js';
import type { Tokens } from '../chat/usage.js';
import type { Round, RoundEnd } from './rounds.js';
import type { Turn } from './turn.js';

/** A reader that takes nothing for so long counts as gone (decisions 6, "Upstreams"). */
const STALL_MS = 60_000;

const readerGone = (): ApiError => new ApiError('server_error', 'The reader has gone');

/**
 * What of a streamed turn was delivered, and its settlement. It ends in exactly one of three ways: finished, failed upstream, or left by its
 * reader; the last two are charged for the prompts and what was delivered, a failure before anything was delivered for nothing.
 */
export class TurnMeter {
  /** Texts of this round as JSON. */
  private delivered: string[] = [];
  private ending: Promise<unknown> | null = null;
  private waitingSince = performance.now();
  private readonly stall: NodeJS.Timeout;
  private readonly onAbort = (): void => {
    const { stopped } = this.turn.caller;
    this.leave(stopped ? new ApiError('server_error', 'The service is stopping') : null);
  };

  /** Whether this round's tokens are part of the record. Between two rounds there is nothing to add. */
  private isTallied = false;

  /** Set once the turn has ended otherwise than by being finished. */
  fault: ApiError | null = null;

  /** @param round the one that is under way */
  constructor(
    private readonly turn: Turn,
    private readonly round: () => Pick<Round<RoundEnd>, 'model' | 'told' | 'cancel'>,
  ) {
    this.stall = setInterval(() => this.checkStall(), STALL_MS / 4).unref();
    turn.caller.addEventListener('abort', this.onAbort);
    if (turn.caller.aborted) this.onAbort();
  }

  /** Whether the turn has had one of its ends. */
  get over(): boolean {
    return this.ending !== null;
  }

  /** The reader waits for the next event: it is not what is slow. */
  waiting(): void {
    this.waitingSince = Number.POSITIVE_INFINITY;
  }

  handedOut(): void {
    this.waitingSince = performance.now();
  }

  /** @param literal a text as JSON, quotes included */
  deliverJson(literal: string): void {
    if (literal !== '""') this.delivered.push(literal);
  }

  deliver(text: string): void {
    if (text !== '') this.delivered.push(JSON.stringify(text));
  }

  /** A round's tokens, from what its upstream reported (in the words of chat or of the dialect) or as they are counted here. */
  async count(reported: unknown): Promise<Tokens> {
    const tokens = await wholeTokens(inChatWords(reported), {
      prompt: this.turn.chat.promptTokens,
      completion: () => this.deliveredTokens(),
      generated: this.delivered.length > 0,
    });
    this.tally(tokenClasses(tokens, reported));
    return tokens;
  }

  /** The last round is over; what it cost is known. */
  endRound(): void {
    this.delivered = [];
  }

  /** Another round has begun. */
  beginRound(): void {
    this.isTallied = false;
  }

  /** Charges all rounds. @param cost of the last one. @returns null where the turn had ended otherwise meanwhile */
  async finish(
    cost: Tokens,
    answer: { messageId: string; model: Model; unseen: boolean },
  ): Promise<{ settlement: Settlement; tokens: Tokens } | null> {
    if (this.ending) return null;
    const { turn } = this;
    const tokens = turn.spend(cost);
    const settling = turn
      .releaseHeld()
      .then(() => turn.engine.settlement.finish(turn.chat, tokens, { ...answer, model: answer.model.id }));
    this.ending = settling;
    this.release();
    return { settlement: await settling, tokens };
  }

  /** The upstream failed, or what it made could not be kept. @returns the error to tell */
  async failed(error: unknown, { model, isFree }: { model: Model; isFree?: boolean }): Promise<ApiError> {
    const { turn } = this;
    if (!this.ending) {
      const free = isFree ?? (this.delivered.length === 0 && turn.spent.total === 0);
      if (!free || error instanceof UpstreamError) turn.engine.settlement.tellBroken(error, model);
      this.fault = turn.engine.settlement.answerOf(error);
      this.release();
      this.round().cancel();
      this.ending = free ? this.failFree(error) : this.chargeDelivered(endingOf(error));
    }
    await this.ending;
    return this.fault ?? turn.engine.settlement.answerOf(error);
  }

  /** The reader has gone, or takes nothing: the upstream's work ends, what was delivered is charged. */
  leave(fault: ApiError | null): void {
    if (this.ending) return;
    this.fault = fault ?? readerGone();
    this.release();
    const { stopped } = this.turn.caller;
    this.ending = this.chargeDelivered(
      stopped ? { status: 'failed', errorCode: this.fault.code } : CANCELLED,
    );
    // Nobody may be there to see it fail; `ended` still does.
    this.ending.catch(() => undefined);
    this.round().cancel();
  }

  /** Waits for whatever end the turn had. */
  async ended(): Promise<void> {
    await this.ending;
  }

  private async chargeDelivered(ending: OperationEnding): Promise<void> {
    const { turn } = this;
    await turn.releaseHeld();
    const delivered = await this.deliveredTokens();
    const prompt = turn.chat.promptTokens;
    this.tally(brokenClasses(this.round().told().reported, { prompt, delivered }));
    await turn.engine.settlement.charge(turn.chat, turn.spent.total + delivered, ending);
  }

  /** Nobody got anything of it: costed where its upstream told its usage. */
  private async failFree(error: unknown): Promise<void> {
    const { reported } = this.round().told();
    const usage = inChatWords(reported);
    if (usage !== null) this.tally(classesTold(usage));
    await this.turn.fail(error);
  }

  private tally(tokens: TokenClasses): void {
    if (this.isTallied) return;
    this.isTallied = true;
    const round = this.round();
    this.turn.chat.tally.answers({ model: round.model, tokens, upstreamId: round.told().id });
  }

  private async deliveredTokens(): Promise<number> {
    return await countDelivered(this.delivered, this.turn.engine.options.tokenizer);
  }

  private checkStall(): void {
    if (this.turn.call.idempotencyKey !== null || performance.now() - this.waitingSince < STALL_MS) return;
    this.leave(new ApiError('server_error', 'The reader was too slow'));
  }

  private release(): void {
    clearInterval(this.stall);
    this.turn.caller.removeEventListener('abort', this.onAbort);
    this.turn.caller.leave();
  }
}
