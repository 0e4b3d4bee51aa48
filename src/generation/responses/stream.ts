import type { Model } from '../../models/models.types.js';
import { isFields, typeOfEvent } from '../../providers/index.js';
import type { Tokens } from '../chat/usage.js';
import type { Fields } from '../dialects/checks.js';
import type { Round } from '../dialects/rounds.js';
import { DialectStream } from '../dialects/stream.js';
import type { BrokenOff, StreamForm } from '../dialects/stream.js';
import type { StreamedRound } from '../dialects/turn.js';
import { begin, conclude, save } from './ending.js';
import { EventLog } from './events.js';
import type { ResponseObject } from './object.js';
import { streamedRound } from './rounds.js';
import type { ResponseEnd } from './rounds.js';
import type { ResponseWork } from './work.js';

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

export class ResponseForm implements StreamForm<ResponseEnd> {
  private readonly begun: ResponseObject;
  /** Once its end is told. */
  whole: ResponseObject | null = null;
  private keeping: Promise<void> | null = null;

  constructor(
    readonly work: ResponseWork,
    first: StreamedRound,
    readonly log = new EventLog(),
  ) {
    this.begun = begin(work, first.model, begunBy(first));
  }

  begin(): void {
    this.log.push({ type: 'response.created', response: this.begun as never });
    this.beginWork();
  }

  /** One that was created before. */
  beginWork(): void {
    this.log.push({ type: 'response.in_progress', response: this.begun as never });
  }

  /** @param messageId of its first message, where another process began it */
  roundOf(found: StreamedRound, deliver: (literal: string) => void, messageId?: string): Round<ResponseEnd> {
    const { work, log } = this;
    return streamedRound(found, { work, log, deliver, messageId });
  }

  async nextRound(end: ResponseEnd, cost: Tokens): Promise<void> {
    const outputs = await this.search(end);
    await this.work.nextRound(cost, [...end.items, ...outputs]);
  }

  /** The searches of a round, with their events. */
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

  tellEnd({ ended, final }: ResponseEnd, { model, tokens }: { model: Model; tokens: Tokens }): void {
    const { work } = this;
    if (work.items.length === 0 && ended.status === 'completed')
      throw new Error('The upstream ended without an answer');
    this.whole = conclude(work, { model, ended, tokens, final });
    const type = ended.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
    this.log.push({ type, response: this.whole as never });
  }

  async save(): Promise<void> {
    if (this.whole !== null) await save(this.work, this.whole);
  }

  /** Nobody is told that it is stored: a failure here is only logged. */
  async breakOff(round: Round<ResponseEnd>, { status, fault }: BrokenOff): Promise<void> {
    const { work, begun } = this;
    if (this.keeping === null && work.prepared.request.store) {
      round.breakOff();
      const error = fault === null ? null : { code: 'server_error' as const, message: fault.message };
      const output = work.items.filter((item) => item['status'] !== 'in_progress');
      const response = { ...begun, status, error, output: output as never };
      this.keeping = save(work, response).catch((cause: unknown) => {
        work.parts.engine.options.logger.warn({ err: cause, responseId: work.id }, 'a response was not kept');
      });
    }
    await this.keeping;
  }
}

/** A streamed response on its way to its reader. */
export function streamResponse(work: ResponseWork, first: StreamedRound): AsyncIterable<string> {
  return new DialectStream(new ResponseForm(work, first), first);
}
