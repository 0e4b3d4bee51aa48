import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import type { Database } from '../../database/database.types.js';
import { renewLeases } from '../../jobs/index.js';
import type { Hold } from '../../jobs/index.js';
import { CANCELLED } from '../../metering/index.js';
import { createResponseWriter, keepResponse } from './background/moves.queries.js';
import type { EndedResponse } from './background/moves.queries.js';
import type { ResponseObject } from './object.js';
import { idsOf } from './store.js';
import type { ResponseStore } from './store.js';
import type { ResponseWork } from './work.js';

/** An answer that takes longer than this is stored during its delivery. */
const BEGIN_MS = 100;
/** How often new events are stored. Only other readers of the answer wait for this, not its caller. */
const CLOSE_MS = 250;
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

interface KeepersOptions {
  database: Pick<Database, 'system' | 'hints'>;
  store: Pick<ResponseStore, 'save'>;
  logger: Logger;
  /** Whether events are also published. Then an end is stored after the charge, so that no end of an unpaid answer is published. */
  isHeard: boolean;
}

/** Stores the answers for which callers of this process wait, so that others can read their events during and after the delivery (beyond 12.1). */
export class ResponseKeepers {
  readonly workerId = newId('wrk');
  readonly writer: ReturnType<typeof createResponseWriter>;
  private readonly open = new Map<string, ResponseKeeper>();
  private renewing: NodeJS.Timeout | undefined;

  constructor(readonly options: KeepersOptions) {
    const { database } = options;
    this.writer = createResponseWriter(database);
    database.hints.on('response_cancel', (id) => this.open.get(id)?.cancel());
  }

  /** @param begun the response object at its beginning, as the reader gets it. @returns null if the answer must not be stored */
  of(work: ResponseWork, begun: () => ResponseObject): ResponseKeeper | null {
    return work.prepared.request.store ? new ResponseKeeper(this, work, begun) : null;
  }

  add(keeper: ResponseKeeper): void {
    this.open.set(keeper.hold.id, keeper);
    this.renewing ??= setInterval(() => void this.renew(), RENEW_MS).unref();
  }

  delete({ hold }: ResponseKeeper): void {
    this.open.delete(hold.id);
    if (this.open.size > 0) return;
    clearInterval(this.renewing);
    this.renewing = undefined;
  }

  private async renew(): Promise<void> {
    const { database, logger } = this.options;
    const keepers = [...this.open.values()];
    try {
      const holds = keepers.map(({ hold }) => hold);
      const held = await renewLeases(database.system, 'responses', {
        workerId: this.workerId,
        holds,
        leaseMs: LEASE_MS,
      });
      for (const keeper of keepers) if (!held.has(keeper.hold.id)) keeper.lost();
    } catch (error) {
      logger.warn({ err: error }, 'the leases of responses could not be renewed');
    }
  }
}

/** The end of an answer. */
export interface KeptEnd {
  response: ResponseObject;
  /** The same as JSON, if it was already serialised. */
  text?: string;
  /** The last events, which are not delivered yet. */
  last(): readonly string[];
  /** Whether all events can be derived from the response, as for an answer in one piece. */
  isWhole?: boolean;
}

/**
 * Stores one answer. Its reader does not wait for writes during the delivery. A short answer is stored at its end, with its events, before
 * its charge. A longer answer is stored during its delivery, and its end is stored after its charge.
 */
export class ResponseKeeper {
  readonly hold: Hold;
  /** Whether its caller has cancelled it by another request. */
  isCancelled = false;
  private state: 'new' | 'begun' | 'ended' = 'new';
  /** Delivered events that are not known to be stored. */
  private waiting: string[] = [];
  /** The number of these events that were sent to the database. If that failed, exactly these are sent again. */
  private sent = 0;
  private stored = 0;
  /** Whether its row may exist, because the statement that stores it has not been answered. */
  private isUncertain = false;
  private isOver = false;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private stop: ((fault: ApiError) => void) | null = null;

  constructor(
    private readonly keepers: ResponseKeepers,
    private readonly work: ResponseWork,
    private readonly begun: () => ResponseObject,
  ) {
    const { orgId } = work.turn.call.principal;
    this.hold = { workerId: keepers.workerId, orgId, id: work.id, fence: 1 };
  }

  /** Whether it is stored, but its end is not. */
  get isOpen(): boolean {
    return this.state === 'begun';
  }

  /** The number of delivered events. */
  get told(): number {
    return this.stored + this.waiting.length;
  }

  /** @param stop ends the answer early */
  onStop(stop: (fault: ApiError) => void): void {
    this.stop = stop;
  }

  /** Adds an event that was delivered. */
  take(event: string): void {
    if (this.state === 'ended') return;
    this.waiting.push(event);
    this.timer ??= setTimeout(this.onTime, this.state === 'new' ? BEGIN_MS : CLOSE_MS).unref();
  }

  cancel(): void {
    if (this.state !== 'begun') return;
    this.isCancelled = true;
    this.stop?.(new ApiError('server_error', 'The response was cancelled'));
  }

  /** Called if a worker has ended the response, because this process did not renew its lease in time. */
  lost(): void {
    if (this.state !== 'begun') return;
    this.close();
    this.stop?.(new ApiError('server_error', 'Interrupted'));
  }

  /** Called before the charge; stores a short answer completely. @throws errors of the database */
  async save(end: KeptEnd): Promise<void> {
    await this.quiet();
    if (this.state === 'new' && (this.isUncertain || this.keepers.options.isHeard)) await this.begin();
    if (this.state === 'new') await this.saveWhole(end);
  }

  /** Called after the charge, or if there is no charge. Never fails, because the answer then belongs to its reader. */
  async end(end: KeptEnd): Promise<void> {
    if (this.state === 'ended') return;
    try {
      await this.quiet();
      this.isOver = true;
      if (this.state === 'new' && (this.isUncertain || this.keepers.options.isHeard)) await this.begin();
      if (this.state === 'new') return await this.saveWhole(end);
      if (this.state !== 'begun') return;
      if (this.sent > 0) await this.append();
      await this.writeEnd(end.response, [...this.waiting, ...end.last()]);
    } catch (error) {
      this.tell(error, 'a response was not kept');
    } finally {
      this.close();
    }
  }

  /** Called if a saved answer is not charged after all. @returns whether its row must be removed; an open row stays, because `end` ends it */
  forget(): boolean {
    if (this.state === 'begun') return false;
    this.state = 'new';
    return true;
  }

  private readonly onTime = (): void => {
    this.timer = undefined;
    this.writing = this.writing.then(() => this.write());
  };

  private close(): void {
    this.state = 'ended';
    clearTimeout(this.timer);
    this.keepers.delete(this);
  }

  /** Waits until the current write has ended. */
  private async quiet(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.writing;
  }

  /** If a write fails, the next event starts another attempt. */
  private async write(): Promise<void> {
    try {
      if (this.state === 'new' && !this.isOver) await this.begin();
      else if (this.state === 'begun') await this.append();
    } catch (error) {
      this.tell(error, 'events of a response could not be stored yet');
    }
  }

  private async begin(): Promise<void> {
    const { database } = this.keepers.options;
    const { turn, prepared } = this.work;
    const { call, operationId, promptTokens, maxTokens } = turn.chat;
    const { orgId, keyId, userId } = call.principal;
    const { workerId, id } = this.hold;
    const { items, previousId } = prepared.request;
    const { requestId, client } = call;
    const begun = this.begun();
    const { model } = begun;
    const caller = { orgId, keyId, userId, requestId, client };
    const row = { id, ...caller, model, previousId, operationId, promptTokens, maxTokens, workerId };
    const events = this.sending();
    this.isUncertain = true;
    const isKept = await keepResponse(database.system, {
      row: { ...row, isOver: this.isOver },
      response: JSON.stringify(begun),
      input: JSON.stringify(items),
      itemIds: idsOf(items),
      events,
      leaseMs: LEASE_MS,
    });
    this.isUncertain = false;
    if (!isKept) {
      this.isOver = true;
      this.sent = 0;
      return;
    }
    this.arrived();
    this.state = 'begun';
    this.keepers.add(this);
  }

  private async append(): Promise<void> {
    const events = this.sending();
    if (events.length === 0) return;
    const appended = await this.keepers.writer.append({ hold: this.hold, after: this.stored, events });
    if (appended === null) return this.lost();
    this.arrived();
    if (appended.cancelling) this.cancel();
  }

  private sending(): string[] {
    this.sent ||= this.waiting.length;
    return this.waiting.slice(0, this.sent);
  }

  private arrived(): void {
    this.waiting.splice(0, this.sent);
    this.stored += this.sent;
    this.sent = 0;
  }

  /** The operation has already ended. This outcome counts only if the database has lost that end. */
  private async writeEnd(response: ResponseObject, events: string[]): Promise<void> {
    const outcome = this.work.turn.chat.tally.outcome(CANCELLED);
    await this.keepers.writer.end({
      hold: this.hold,
      status: response.status as EndedResponse['status'],
      response: JSON.stringify(response),
      itemIds: idsOf(response.output),
      events,
      amounts: null,
      event: null,
      outcome,
    });
  }

  private async saveWhole({ response, text, last, isWhole = false }: KeptEnd): Promise<void> {
    const { principal } = this.work.turn.call;
    const input = this.work.prepared.request.items;
    const events = isWhole ? null : [...this.waiting, ...last()];
    await this.keepers.options.store.save({ principal, response, text, input, events });
    this.state = 'ended';
  }

  private tell(error: unknown, what: string): void {
    this.keepers.options.logger.warn({ err: error, responseId: this.hold.id }, what);
  }
}
