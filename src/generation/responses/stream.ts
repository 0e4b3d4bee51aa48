import { ApiError } from '../../contract/errors.js';
import type { Tokens } from '../chat/usage.js';
import { TurnMeter } from '../dialects/meter.js';
import type { StreamedRound } from '../dialects/turn.js';
import { isFields, typeOfEvent, usageIn } from '../../providers/index.js';
import { begin, conclude, keepMade, MAX_ROUNDS, save } from './ending.js';
import type { Fields } from '../dialects/checks.js';
import { EventLog } from './events.js';
import type { ResponseObject } from './object.js';
import { ChatRound, NativeRound } from './rounds.js';
import type { Round, RoundEnd } from './rounds.js';
import type { ResponseWork } from './work.js';

type Step = IteratorResult<string, undefined>;
const DONE: Step = { done: true, value: undefined };

/** What an upstream of the dialect says of the response at its beginning. */
function begunBy({ native }: StreamedRound): Fields | null {
  if (native === null) return null;
  for (const event of native.early) {
    if (!/^response\.(?:created|in_progress|queued)$/.test(typeOfEvent(event))) continue;
    try {
      const { response } = JSON.parse(event.data) as Fields;
      if (isFields(response)) return response;
    } catch {
      // It is as if it had said nothing.
    }
  }
  return {};
}

/**
 * A streamed response on its way to its reader, with the rounds that its searches make of it. Its one end is the meter's; what is stored
 * stands before the last event goes out.
 */
export class ResponseStream implements AsyncIterableIterator<string, undefined> {
  private readonly log = new EventLog();
  private readonly meter: TurnMeter;
  private readonly begun: ResponseObject;
  private round: Round;
  /** All that was handed out, where a retry may want it. */
  private readonly written: string[] = [];
  private finished = false;
  private keeping: Promise<void> | null = null;

  constructor(
    private readonly work: ResponseWork,
    first: StreamedRound,
  ) {
    this.round = this.roundOf(first);
    this.begun = begin(work, first.model, begunBy(first));
    const response = this.begun as never;
    this.log.push({ type: 'response.created', response });
    this.log.push({ type: 'response.in_progress', response });
    this.meter = new TurnMeter(work.turn, () => this.round.cancel());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    this.meter.waiting();
    const value = this.log.ready.shift() ?? (await this.advance());
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
      await this.keepBroken('cancelled', null);
    }
    return DONE;
  }

  /** The next event to hand out, or null at the end. @throws ApiError */
  private async advance(): Promise<string | null> {
    while (!this.finished) {
      if (this.meter.fault !== null) throw await this.left();
      try {
        if (!(await this.round.step())) await this.endRound();
      } catch (error) {
        throw await this.failed(error);
      }
      const event = this.log.ready.shift();
      if (event !== undefined) return event;
    }
    return this.log.ready.shift() ?? null;
  }

  private async endRound(): Promise<void> {
    const end = this.round.end();
    const { details, turn, rounds } = this.work;
    details.add(end.reported);
    const cost = await this.meter.count(isFields(end.reported) ? usageIn({ usage: end.reported }) : null);
    const goesOn = end.searches.length > 0 && !end.hasCalls && rounds < MAX_ROUNDS;
    if (!goesOn || this.meter.over) return await this.finish(end, cost);
    const outputs = await this.search(end);
    await this.work.nextRound(cost, [...end.items, ...outputs]);
    if (this.meter.over) return;
    this.meter.nextRound();
    this.round = this.roundOf(await turn.stream());
  }

  /** The searches of a round, with their events. */
  private search({ searches }: RoundEnd): Promise<Fields[]> {
    const { log } = this;
    return this.work.runSearches(searches, {
      begun(item, output_index) {
        const place = { item_id: String(item['id']), output_index };
        log.push({ type: 'response.output_item.added', output_index, item: item as never });
        log.push({ type: 'response.web_search_call.in_progress', ...place });
        log.push({ type: 'response.web_search_call.searching', ...place });
      },
      ended(item, output_index) {
        const place = { item_id: String(item['id']), output_index };
        log.push({ type: 'response.web_search_call.completed', ...place });
        log.push({ type: 'response.output_item.done', output_index, item: item as never });
      },
    });
  }

  /** Keeps, charges, then tells the end. */
  private async finish({ ended, final }: RoundEnd, cost: Tokens): Promise<void> {
    const { work, meter } = this;
    const { model } = this.round;
    if (work.items.length === 0 && ended.status === 'completed')
      throw new Error('The upstream ended without an answer');
    if (meter.over) return;
    const { spent } = work.turn;
    const tokens = {
      prompt: spent.prompt + cost.prompt,
      completion: spent.completion + cost.completion,
      total: spent.total + cost.total,
    };
    const response = conclude(work, { model, ended, tokens, final });
    const type = ended.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
    this.log.push({ type, response: response as never });
    const { madeAnswers } = work.turn.call;
    if (madeAnswers !== undefined) await keepMade(work, [...this.written, ...this.log.ready]);
    await save(work, response);
    const unseen = madeAnswers !== undefined;
    const settled = await meter
      .finish(cost, { messageId: work.id, model, unseen })
      .catch(async (error: unknown) => {
        await this.forget().catch(() => undefined);
        throw error;
      });
    if (settled === null) return await this.forget();
    this.finished = true;
  }

  private forget(): Promise<void> {
    const { parts, turn, id } = this.work;
    return parts.store.forget(turn.call.principal.orgId, id);
  }

  /** The upstream failed, or the answer could not be kept. @returns the error to tell */
  private async failed(error: unknown): Promise<ApiError> {
    const { meter } = this;
    if (meter.fault !== null) return await this.left();
    // An event of an end that was not reached is not told.
    this.log.ready.length = 0;
    const isConflict = error instanceof ApiError && error.code === 'conflict';
    const fault = await meter.failed(error, {
      model: this.round.model,
      ...(isConflict ? { isFree: true } : {}),
    });
    if (isConflict) await this.forget();
    else await this.keepBroken('failed', fault);
    return fault;
  }

  /** The reader has gone, or the process ends. */
  private async left(): Promise<ApiError> {
    await this.meter.ended();
    await this.keepBroken('cancelled', null);
    return this.meter.fault ?? new ApiError('server_error', 'Generation failed');
  }

  /** What came of an answer that broke off is kept with its state. Nobody is told that it is: a failure here is only logged. */
  private async keepBroken(status: 'failed' | 'cancelled', fault: ApiError | null): Promise<void> {
    const { work } = this;
    if (this.finished || this.keeping !== null || !work.prepared.request.store) {
      await this.keeping;
      return;
    }
    this.round.breakOff();
    const error = fault === null ? null : { code: 'server_error' as const, message: fault.message };
    const output = work.items.filter((item) => item['status'] !== 'in_progress');
    const response = { ...this.begun, status, error, output: output as never };
    this.keeping = save(work, response).catch((cause: unknown) => {
      work.parts.engine.options.logger.warn({ err: cause, responseId: work.id }, 'a response was not kept');
    });
    await this.keeping;
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
