import type { Model } from '../../models/models.types.js';
import { isFields, typeOfEvent } from '../../providers/index.js';
import type { Tokens } from '../chat/usage.js';
import type { Fields } from '../dialects/checks.js';
import type { Round } from '../dialects/rounds.js';
import { DialectStream } from '../dialects/stream.js';
import type { BrokenOff, StreamForm } from '../dialects/stream.js';
import type { StreamedRound } from '../dialects/turn.js';
import { begin, conclude } from './ending.js';
import { EventLog } from './events.js';
import type { ResponseKeeper, ResponseKeepers } from './kept.js';
import type { ResponseObject } from './object.js';
import { streamedRound } from './rounds.js';
import type { ResponseEnd } from './rounds.js';
import type { ResponseWork } from './work.js';

/** The response object in an upstream's first events; empty if there is none, and null for an upstream without the dialect. */
function begunBy({ native }: StreamedRound): Fields | null {
  if (native === null) return null;
  for (const event of native.early) {
    if (!/^response\.(?:created|in_progress|queued)$/.test(typeOfEvent(event))) continue;
    try {
      const { response } = JSON.parse(event.data) as Fields;
      if (isFields(response)) return response;
    } catch {
      // An unreadable event is treated as missing.
    }
  }
  return {};
}

export class ResponseForm implements StreamForm<ResponseEnd> {
  readonly log: EventLog;
  private readonly begun: ResponseObject;
  /** The complete response; null until its last event is written. */
  whole: ResponseObject | null = null;
  /** Null if the answer is not stored, or if a worker stores it. */
  readonly kept: ResponseKeeper | null;
  /** The last event of an answer that its caller has cancelled. */
  cancelled: string | null = null;
  private keeping: Promise<void> | null = null;

  /** @param given `keepers` if the caller waits for the answer; `log` if the response was created before */
  constructor(
    readonly work: ResponseWork,
    first: StreamedRound,
    given: { keepers: ResponseKeepers } | { log: EventLog },
  ) {
    this.begun = begin(work, first.model, begunBy(first));
    this.log = 'log' in given ? given.log : new EventLog();
    this.kept = 'log' in given ? null : given.keepers.of(work, () => this.begun);
    work.keeper = this.kept;
  }

  begin(): void {
    this.log.push({ type: 'response.created', response: this.begun as never });
    this.beginWork();
  }

  /** Begins a response that was created before. */
  beginWork(): void {
    this.log.push({ type: 'response.in_progress', response: this.begun as never });
  }

  /** @param ids of its first items if another process began it */
  roundOf(
    found: StreamedRound,
    deliver: (literal: string) => void,
    ids?: readonly string[],
  ): Round<ResponseEnd> {
    const { work, log } = this;
    return streamedRound(found, { work, log, deliver, ids });
  }

  async nextRound(end: ResponseEnd, cost: Tokens): Promise<void> {
    const outputs = await this.search(end);
    await this.work.nextRound(cost, [...end.items, ...outputs]);
  }

  /** Runs the searches of a round and writes their events. */
  private search({ searches }: ResponseEnd): Promise<Fields[]> {
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

  writeFinalEvents(
    { ended, isStated, final }: ResponseEnd,
    { model, tokens }: { model: Model; tokens: Tokens },
  ): void {
    const { work } = this;
    if (work.items.length === 0 && !isStated) throw new Error('The upstream ended without an answer');
    this.whole = conclude(work, { model, ended, tokens, final });
    const type = ended.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
    this.log.push({ type, response: this.whole as never });
  }

  async save(): Promise<void> {
    if (this.whole !== null) await this.kept?.save({ response: this.whole, last: () => this.log.ready });
  }

  async settled(): Promise<void> {
    if (this.whole !== null) await this.kept?.end({ response: this.whole, last: () => this.log.ready });
  }

  async breakOff(round: Round<ResponseEnd>, { status, fault }: BrokenOff): Promise<void> {
    const { work, begun, kept } = this;
    if (this.keeping === null && kept !== null) {
      round.breakOff();
      // These events were not delivered to the reader, so they are dropped.
      this.log.ready.length = 0;
      const error = fault === null ? null : { code: 'server_error' as const, message: fault.message };
      const output = work.items.filter((item) => item['status'] !== 'in_progress');
      const response: ResponseObject = { ...begun, status, error, output: output as never };
      const event = { type: `response.${status}`, sequence_number: kept.told, response };
      const last = JSON.stringify(event);
      if (kept.isCancelled) this.cancelled = last;
      this.keeping = kept.end({ response, last: () => [last] });
    }
    await this.keeping;
  }
}

/** Delivers a streamed response to its reader. */
export function streamResponse(
  work: ResponseWork,
  first: StreamedRound,
  keepers: ResponseKeepers,
): AsyncIterable<string> {
  return new DialectStream(new ResponseForm(work, first, { keepers }), first);
}
