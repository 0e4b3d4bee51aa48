import type { Logger } from 'pino';
import type { Hints } from '../src/database/hints.types.js';
import type { Bus, BusSubscription, Topic } from '../src/events/events.types.js';
import { invalid, notFound } from '../src/contract/errors.js';
import { EventChannel, RECENT, type Sequenced } from './event-channel.js';
import { EventCursor } from './event-cursor.js';
import { BatchedReads } from './batched-reads.js';

const SWEEP_MS = 2_000;

/** An entity with events: a job, a run. */
export interface Entity {
  id: string;
  orgId: string;
  /** Sequence of its last event. */
  sequence: number;
}

/** The source of the events of one kind of entity. The database is authoritative; notifications and the bus only wake readers. */
export interface EventSource<Scope extends { orgId: string }, Row extends Entity, Event extends Sequenced> {
  /** As messages name the entity: `Job`. */
  noun: string;
  hint: Parameters<Hints['on']>[0];
  topic: Topic;
  /** Rows that the scope may see, of many ids; unknown ids are left out. */
  getMany(scope: Scope, ids: string[]): Promise<Row[]>;
  /** Events with a sequence > after, at most `limit`, in order. */
  events(entity: { id: string; orgId: string }, after: number, limit: number): Promise<Event[]>;
  /** The positions of these entities, in one read; unknown ids are left out. */
  positions(ids: string[]): Promise<{ id: string; sequence: number }[]>;
  /** Whether the entity has no further events. */
  isFinished(row: Row): boolean;
  /** Whether a stream ends with this event. */
  isLast(event: Event): boolean;
}

/** The bus and the logger of a process's hubs. */
export interface EventCarriers {
  hints: Pick<Hints, 'on'>;
  bus: Pick<Bus, 'subscribe'>;
  logger: Logger;
}

/** A further listener to each event: the events of whole organisations. */
export interface Watcher {
  readonly size: number;
  wake(orgId: string): void;
  /** Searches for events whose notification was lost. */
  sweep(): Promise<void>;
  end(): void;
}

interface Shared<Event extends Sequenced> {
  channel: EventChannel<Event>;
  users: number;
}

/**
 * The live events of one kind of entity for the subscribers of one process: snapshot, replay, then tail, with no gap and no duplicate. All
 * subscribers of an entity share one channel, so that an event is read once. Listens from {@link start} until {@link close}.
 */
export class EventHub<Scope extends { orgId: string }, Row extends Entity, Event extends Sequenced> {
  readonly #channels = new Map<string, Shared<Event>>();
  readonly #cursors = new Set<EventCursor<Event>>();
  readonly #rows: BatchedReads<Scope, Row>;
  readonly #watchers: Watcher[] = [];
  #unlisten: () => void = () => {};
  #subscription: BusSubscription | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly source: EventSource<Scope, Row, Event>,
    private readonly carriers: EventCarriers,
  ) {
    this.#rows = new BatchedReads((scope, ids) => source.getMany(scope, ids));
  }

  async start(): Promise<void> {
    const { hints, bus } = this.carriers;
    this.#unlisten = hints.on(this.source.hint, (payload) => {
      const [id, sequence, orgId] = payload.split(':');
      if (id) this.#wake(id, Number(sequence), orgId);
    });
    this.#subscription = await bus.subscribe({ topics: [this.source.topic], group: null }, (message) => {
      this.#wake(message.key, message.event.sequence ?? 0, message.event.orgId);
    });
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  get logger(): Logger {
    return this.carriers.logger;
  }

  /** Number of open subscribers; tests check that none leaks. */
  get size(): number {
    return this.#watchers.reduce((sum, watcher) => sum + watcher.size, this.#cursors.size);
  }

  attach(watcher: Watcher): void {
    this.#watchers.push(watcher);
  }

  /**
   * One entity's events. Without `after` the first is the entity's current state with its last sequence; with `after`, exactly the events after
   * it. Ends after the last event.
   * @param query.suits whether a row is of the kind that the subscriber asked for
   * @throws ApiError not_found; invalid_request for an `after` that is beyond the last event
   */
  async follow(
    scope: Scope,
    { id, after, suits }: { id: string; after?: number | undefined; suits?(row: Row): boolean },
  ): Promise<AsyncIterableIterator<Event>> {
    if (after !== undefined && (!Number.isSafeInteger(after) || after < 0))
      throw invalid('after must be a sequence number', 'after');
    const row = await this.#rows.find(scope, id);
    if (!row || suits?.(row) === false) throw notFound(`${this.source.noun} not found`);
    if (after !== undefined && after > row.sequence)
      throw invalid(`after is beyond the last event (${row.sequence})`, 'after');
    const start = after ?? row.sequence - 1;
    if (start === row.sequence && this.source.isFinished(row)) return nothing<Event>();
    return this.#subscribe(row, start);
  }

  /** The entity's shared channel; each user calls {@link release} once. @param start where a new channel begins */
  open({ id, orgId }: { id: string; orgId: string }, start: number): EventChannel<Event> {
    let shared = this.#channels.get(id);
    if (!shared) {
      const read = (after: number, limit: number) => this.source.events({ id, orgId }, after, limit);
      const failed = (error: unknown) =>
        this.logger.warn({ err: error, id }, 'reading events failed; the sweep tries again');
      shared = { channel: new EventChannel(start, read, failed), users: 0 };
      this.#channels.set(id, shared);
    }
    shared.users++;
    return shared.channel;
  }

  release(id: string): void {
    const shared = this.#channels.get(id);
    if (shared && --shared.users === 0) this.#channels.delete(id);
  }

  /** Ends every stream, because the process stops; clients resume at another process. */
  drain(): void {
    for (const cursor of [...this.#cursors]) void cursor.return();
    for (const watcher of this.#watchers) watcher.end();
  }

  async close(): Promise<void> {
    this.drain();
    clearInterval(this.#timer);
    this.#unlisten();
    await this.#subscription?.close();
  }

  #subscribe(row: Row, after: number): EventCursor<Event> {
    const channel = this.open(row, after);
    const cursor = new EventCursor(channel, {
      after,
      maxLag: RECENT,
      isLast: (event) => this.source.isLast(event),
      onClose: () => {
        this.#cursors.delete(cursor);
        this.release(row.id);
      },
    });
    this.#cursors.add(cursor);
    channel.wake(row.sequence);
    return cursor;
  }

  #wake(id: string, sequence: number, orgId: string | undefined): void {
    this.#channels.get(id)?.channel.wake(sequence);
    if (orgId !== undefined) for (const watcher of this.#watchers) watcher.wake(orgId);
  }

  /** A notification can be lost with a connection, so all watched entities are checked again, in one read. */
  async #sweep(): Promise<void> {
    try {
      for (const watcher of this.#watchers) await watcher.sweep();
      if (this.#channels.size === 0) return;
      const positions = await this.source.positions([...this.#channels.keys()]);
      for (const { id, sequence } of positions) this.#channels.get(id)?.channel.wake(sequence);
    } catch (error) {
      this.logger.warn({ err: error }, 'sweeping events failed; the next sweep tries again');
    }
  }
}

async function* nothing<Event>(): AsyncGenerator<Event> {}
