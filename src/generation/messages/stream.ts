import { ApiError } from '../../contract/errors.js';
import { isFields, typeOfEvent, usageIn, WHOLE } from '../../providers/index.js';
import type { Tokens } from '../chat/usage.js';
import type { Fields } from '../dialects/checks.js';
import { keepTexts } from '../dialects/made.js';
import { TurnMeter } from '../dialects/meter.js';
import type { StreamedRound } from '../dialects/turn.js';
import { keptAs, MAX_ROUNDS } from './complete.js';
import { MessageLog } from './events.js';
import { ChatRound, NativeRound } from './rounds.js';
import type { Round, RoundEnd } from './rounds.js';
import { laterReport } from './usage.js';
import type { MessageWork } from './work.js';

type Step = IteratorResult<string, undefined>;
const DONE: Step = { done: true, value: undefined };

/** What an upstream of the dialect says of the message at its beginning, its content aside. */
function begunBy({ native }: StreamedRound): Fields {
  for (const event of native?.early ?? []) {
    const isWhole = event.name === WHOLE;
    if (!isWhole && typeOfEvent(event) !== 'message_start') continue;
    try {
      const parsed = JSON.parse(event.data) as Fields;
      const message = isWhole ? parsed : parsed['message'];
      if (!isFields(message)) continue;
      const { content: _, usage, ...said } = message;
      const report = laterReport(null, usage);
      return { ...said, ...(report === null ? {} : { usage: { ...report, output_tokens: 0 } }) };
    } catch {
      // It is as if it had said nothing.
    }
  }
  return {};
}

/**
 * A streamed message on its way to its reader, with the rounds that its searches make of it. Its one end is the meter's: it is charged before
 * its last events go out.
 */
export class MessageStream implements AsyncIterableIterator<string, undefined> {
  private readonly log = new MessageLog();
  private readonly meter: TurnMeter;
  private round: Round;
  /** All that was handed out, where a retry may want it. */
  private readonly written: string[] = [];
  private finished = false;

  constructor(
    private readonly work: MessageWork,
    first: StreamedRound,
  ) {
    this.round = this.roundOf(first);
    this.log.push({ type: 'message_start', message: work.begun(first.model, begunBy(first)) });
    if (first.native === null) this.log.push({ type: 'ping' });
    this.meter = new TurnMeter(work.turn, () => this.round.cancel());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    this.meter.waiting();
    const isUnderWay = this.log.ready.length === 0 && !this.finished && this.meter.fault === null;
    return isUnderWay ? this.round.step().then(this.onStep, this.onBroken) : this.step();
  }

  /** Nearly every step of a stream: an event comes and is handed out, without an async function in between. */
  private readonly onStep = (goesOn: boolean): Step | Promise<Step> => {
    if (!goesOn) return this.step(false);
    const event = this.log.ready.shift();
    return event === undefined ? this.step() : this.handedOut(event);
  };

  private readonly onBroken = async (error: unknown): Promise<never> => {
    throw await this.failed(error);
  };

  /** @param goesOn false: the round has just ended */
  private async step(goesOn = true): Promise<Step> {
    const event = goesOn ? this.log.ready.shift() : undefined;
    return this.handedOut(event ?? (await this.advance(goesOn)));
  }

  private handedOut(value: string | null): Step {
    this.meter.handedOut();
    if (value === null) return DONE;
    if (this.work.turn.call.madeAnswers !== undefined) this.written.push(value);
    return { done: false, value };
  }

  async return(): Promise<Step> {
    if (this.work.turn.call.idempotencyKey !== null) this.finishAlone();
    else {
      this.meter.leave(null);
      await this.meter.ended();
    }
    return DONE;
  }

  /** The next event to hand out, or null at the end. @param open false: the round has just ended. @throws ApiError */
  private async advance(open: boolean): Promise<string | null> {
    let goesOn = open;
    while (!this.finished) {
      if (this.meter.fault !== null) throw await this.left();
      try {
        if (!goesOn || !(await this.round.step())) await this.endRound();
      } catch (error) {
        throw await this.failed(error);
      }
      goesOn = true;
      const event = this.log.ready.shift();
      if (event !== undefined) return event;
    }
    return this.log.ready.shift() ?? null;
  }

  private async endRound(): Promise<void> {
    const { work, meter } = this;
    const end = this.round.end();
    work.usage.add(end.reported);
    const cost = await meter.count(isFields(end.reported) ? usageIn({ usage: end.reported }) : null);
    const goesOn = end.searches.length > 0 && !end.hasCalls && work.rounds < MAX_ROUNDS;
    if (!goesOn || meter.over) return await this.finish(end, cost);
    const results = await work.runSearches(end.searches, (block, index) => {
      this.log.pushUnknown({ type: 'content_block_start', index, content_block: block });
      this.log.push({ type: 'content_block_stop', index });
    });
    await work.nextRound(cost, end.added(), results);
    if (meter.over) return;
    meter.nextRound();
    this.round = this.roundOf(await work.turn.stream());
  }

  /** Charges, then tells the end. */
  private async finish({ ending }: RoundEnd, cost: Tokens): Promise<void> {
    const { work, meter } = this;
    if (meter.over) return;
    const { spent } = work.turn;
    const tokens = {
      prompt: spent.prompt + cost.prompt,
      completion: spent.completion + cost.completion,
      total: spent.total + cost.total,
    };
    const delta = { container: null, stop_details: null, ...ending };
    this.log.pushUnknown({ type: 'message_delta', delta, usage: work.usageOf(tokens) });
    this.log.push({ type: 'message_stop' });
    const { madeAnswers } = work.turn.call;
    if (madeAnswers !== undefined)
      await keepTexts(work.turn, keptAs(work), [...this.written, ...this.log.ready]);
    const unseen = madeAnswers !== undefined;
    const settled = await meter.finish(cost, { messageId: work.id, model: this.round.model, unseen });
    if (settled !== null) this.finished = true;
  }

  /** The upstream failed, or the answer could not be kept. @returns the error to tell */
  private async failed(error: unknown): Promise<ApiError> {
    const { meter } = this;
    if (meter.fault !== null) return await this.left();
    // An event of an end that was not reached is not told.
    this.log.ready.length = 0;
    const isConflict = error instanceof ApiError && error.code === 'conflict';
    return await meter.failed(error, { model: this.round.model, ...(isConflict ? { isFree: true } : {}) });
  }

  /** The reader has gone, or the process ends. */
  private async left(): Promise<ApiError> {
    await this.meter.ended();
    return this.meter.fault ?? new ApiError('server_error', 'Generation failed');
  }

  /** A call with an Idempotency-Key goes on without its reader, is charged whole, and can be replayed. */
  private finishAlone(): void {
    const drain = async (): Promise<void> => {
      while (!(await this.next()).done);
    };
    if (!this.finished) drain().catch(() => undefined);
  }

  private roundOf(found: StreamedRound): Round {
    const { work, log } = this;
    const { model } = found;
    const options = { work, log, model, deliver: (literal: string) => this.meter.deliverJson(literal) };
    return found.native === null
      ? new ChatRound(found.chat, options)
      : new NativeRound(found.native, options);
  }
}
