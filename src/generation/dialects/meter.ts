import { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import type { Settlement, TokenClasses } from '../../metering/metering.types.js';
import { CANCELLED } from '../../metering/index.js';
import type { OperationEnding } from '../../metering/index.js';
import { reportedClasses, tokenClasses, UpstreamError } from '../../providers/index.js';
import { endingOf } from '../chat/settlement.js';
import { countDelivered } from '../chat/tokens.js';
import { interruptedClasses, toChatUsage, answerTokens } from '../chat/usage.js';
import type { Tokens } from '../chat/usage.js';
import type { Round, RoundEnd } from './rounds.js';
import type { Turn } from './turn.js';

/** A reader that reads nothing for this time counts as disconnected (decisions 6, "Upstreams"). */
const STALL_MS = 60_000;

const readerGone = (): ApiError => new ApiError('server_error', 'The reader has gone');

/**
 * Counts what a streamed turn delivered, and settles it. A turn ends in exactly one of three ways: finished, failed at the upstream, or left by its
 * reader. The last two are charged for the prompts and the delivered text; a failure before the first delivery is not charged.
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

  /** Whether this round's tokens must be added to the usage record. Between two rounds there is nothing to add. */
  private isTallied = false;

  /** Set when the turn ends in another way than finished. */
  fault: ApiError | null = null;

  /** @param round the current round */
  constructor(
    private readonly turn: Turn,
    private readonly round: () => Pick<Round<RoundEnd>, 'model' | 'upstreamReport' | 'cancel'>,
  ) {
    this.stall = setInterval(() => this.checkStall(), STALL_MS / 4).unref();
    turn.caller.addEventListener('abort', this.onAbort);
    if (turn.caller.aborted) this.onAbort();
  }

  /** Whether the turn has ended. */
  get over(): boolean {
    return this.ending !== null;
  }

  /** Call it when the reader waits for the next event; then the reader is not slow. */
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

  /** A round's tokens: as its upstream reported them (with the names of chat or of the dialect), or as counted here. */
  async count(reported: unknown): Promise<Tokens> {
    const tokens = await answerTokens(toChatUsage(reported), {
      prompt: this.turn.chat.promptTokens,
      completion: () => this.deliveredTokens(),
      generated: () => this.delivered.length > 0,
    });
    this.tally(tokenClasses(tokens, reported));
    return tokens;
  }

  /** Call it when the last round has ended and its cost is known. */
  endRound(): void {
    this.delivered = [];
  }

  /** Call it when another round has begun. */
  beginRound(): void {
    this.isTallied = false;
  }

  /** Charges all rounds. @param cost of the last round. @returns null if the turn has ended in another way meanwhile */
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

  /** Ends the turn because the upstream failed, or its answer could not be stored. @returns the caller's error */
  async failed(error: unknown, { model, isFree }: { model: Model; isFree?: boolean }): Promise<ApiError> {
    const { turn } = this;
    if (!this.ending) {
      const free = isFree ?? (this.delivered.length === 0 && turn.spent.total === 0);
      if (!free || error instanceof UpstreamError) turn.engine.settlement.logInterrupted(error, model);
      this.fault = turn.engine.settlement.answerOf(error);
      this.release();
      this.round().cancel();
      this.ending = free ? this.failFree(error) : this.chargeDelivered(endingOf(error));
    }
    await this.ending;
    return this.fault ?? turn.engine.settlement.answerOf(error);
  }

  /** Ends the turn because the reader has disconnected or is too slow: cancels the upstream's work and charges what was delivered. */
  leave(fault: ApiError | null): void {
    if (this.ending) return;
    this.fault = fault ?? readerGone();
    this.release();
    const { stopped } = this.turn.caller;
    this.ending = this.chargeDelivered(
      stopped ? { status: 'failed', errorCode: this.fault.code } : CANCELLED,
    );
    // Nobody may be waiting for this promise; `ended` still gets its failure.
    this.ending.catch(() => undefined);
    this.round().cancel();
  }

  /** Waits until the turn has ended in any way. */
  async ended(): Promise<void> {
    await this.ending;
  }

  private async chargeDelivered(ending: OperationEnding): Promise<void> {
    const { turn } = this;
    await turn.releaseHeld();
    const delivered = await this.deliveredTokens();
    const prompt = turn.chat.promptTokens;
    this.tally(interruptedClasses(this.round().upstreamReport().reported, { prompt, delivered }));
    await turn.engine.settlement.charge(turn.chat, turn.spent.total + delivered, ending);
  }

  /** Nothing was delivered. The cost is recorded if the upstream reported its usage. */
  private async failFree(error: unknown): Promise<void> {
    const { reported } = this.round().upstreamReport();
    const usage = toChatUsage(reported);
    if (usage !== null) this.tally(reportedClasses(usage));
    await this.turn.fail(error);
  }

  private tally(tokens: TokenClasses): void {
    if (this.isTallied) return;
    this.isTallied = true;
    const round = this.round();
    this.turn.chat.tally.answers({ model: round.model, tokens, upstreamId: round.upstreamReport().id });
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
