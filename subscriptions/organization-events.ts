import type { Logger } from 'pino';
import { invalid } from '../src/contract/errors.js';
import { fromCursor, isVisible, toCursor } from '../src/events/index.js';
import type {
  EventPosition,
  FoundEvents,
  OrganizationEventReader,
  TransactionSnapshot,
} from '../src/events/index.js';
import { BoundedQueue } from './bounded-queue.js';

const QUEUE_CAPACITY = 256;
/** The maximum of organisations in one statement. */
const SWEPT_TOGETHER = 100;

/** An event with its cursor, from which its reader can resume. */
export type WithCursor<Event> = Event & { cursor: string };

interface Subscriber<Event> {
  wants(event: Event): boolean;
  queue: BoundedQueue<WithCursor<Event>>;
  /** Whether it shares the common reads; before that it reads the events that it missed. */
  isJoined: boolean;
  /** The position before it joined; null if it had none. */
  had: TransactionSnapshot | null;
}

interface Watch<Event> {
  /** The common position of its subscribers; null until the first of them has begun. */
  position: EventPosition | null;
  /** Counts the moves of the position. */
  moves: number;
  subscribers: Set<Subscriber<Event>>;
  isReading: boolean;
  /** Notified while it was reading. */
  isDue: boolean;
}

/** The events of all entities of watched organisations. One read serves all subscribers of an organisation, and each resumes from its cursor. */
export class OrganizationEvents<Event extends object> {
  readonly #watches = new Map<string, Watch<Event>>();

  constructor(
    private readonly reader: OrganizationEventReader<Event>,
    private readonly logger: Logger,
  ) {}

  /** Subscribers that get live events. */
  get size(): number {
    let size = 0;
    for (const { subscribers } of this.#watches.values())
      for (const { isJoined } of subscribers) size += Number(isJoined);
    return size;
  }

  /**
   * @param wants selects the organisation's events
   * @param after the cursor of the last event that the subscriber has; without it the stream begins now
   * @throws ApiError invalid_request for a cursor that is not from this installation
   */
  async subscribe(
    orgId: string,
    wants: (event: Event) => boolean,
    after?: string,
  ): Promise<AsyncIterableIterator<WithCursor<Event>>> {
    const from = after === undefined ? null : fromCursor(after);
    const { watch, subscriber } = this.#open(orgId, wants);
    try {
      if (from !== null) return await this.#resume(orgId, from, { watch, subscriber });
      if (watch.position === null) {
        const now = await this.reader.now();
        if (watch.position === null) move(watch, { seen: now, within: null, last: null });
      }
      subscriber.isJoined = true;
      return subscriber.queue;
    } catch (error) {
      void subscriber.queue.return();
      throw error;
    }
  }

  /** Reads new events of an organisation; does nothing while it has no subscribers. */
  wake(orgId: string): void {
    const watch = this.#watches.get(orgId);
    if (watch?.position == null) return;
    watch.isDue = true;
    if (!watch.isReading) void this.#read(orgId, watch);
  }

  /** Finds the events whose notifications were lost. */
  async sweep(): Promise<void> {
    const idle = [...this.#watches].flatMap(([orgId, watch]) =>
      watch.position === null || watch.isReading ? [] : [{ orgId, watch, from: watch.position }],
    );
    for (let start = 0; start < idle.length; start += SWEPT_TOGETHER) {
      const requested = idle.slice(start, start + SWEPT_TOGETHER);
      const found = await this.reader.read(requested);
      requested.forEach(({ orgId, watch, from }, index) => {
        // Another read overtook this one.
        if (watch.position !== from || watch.isReading) return;
        if (this.#deliver(watch, found[index])) this.wake(orgId);
      });
    }
  }

  /** Ends every subscriber's stream. */
  end(): void {
    for (const { subscribers } of [...this.#watches.values()])
      for (const { queue } of [...subscribers]) void queue.return();
  }

  #open(
    orgId: string,
    wants: (event: Event) => boolean,
  ): { watch: Watch<Event>; subscriber: Subscriber<Event> } {
    const known = this.#watches.get(orgId);
    const watch = known ?? {
      position: null,
      moves: 0,
      subscribers: new Set(),
      isReading: false,
      isDue: false,
    };
    this.#watches.set(orgId, watch);
    const queue = new BoundedQueue<WithCursor<Event>>(QUEUE_CAPACITY, () => {
      watch.subscribers.delete(subscriber);
      if (watch.subscribers.size === 0) this.#watches.delete(orgId);
    });
    const subscriber: Subscriber<Event> = { wants, queue, isJoined: false, had: null };
    watch.subscribers.add(subscriber);
    return { watch, subscriber };
  }

  async #read(orgId: string, watch: Watch<Event>): Promise<void> {
    watch.isReading = true;
    try {
      while (watch.isDue && watch.position !== null && watch.subscribers.size > 0) {
        watch.isDue = false;
        const [found] = await this.reader.read([{ orgId, from: watch.position }]);
        if (this.#deliver(watch, found)) watch.isDue = true;
      }
    } catch (error) {
      this.logger.warn({ err: error, orgId }, 'reading events failed; the sweep tries again');
    } finally {
      watch.isReading = false;
    }
  }

  /** @returns whether there may be more */
  #deliver(watch: Watch<Event>, found: FoundEvents<Event> | undefined): boolean {
    if (found === undefined) return false;
    move(watch, found.position);
    for (const { event, transaction, position } of found.events) {
      // One object for all subscribers, so that its answer is written once.
      const reported = { ...event, cursor: toCursor(position) };
      for (const { isJoined, wants, queue, had } of [...watch.subscribers])
        if (isJoined && wants(event) && (had === null || !isVisible(had, transaction))) queue.push(reported);
    }
    return !found.isWhole;
  }

  /** Delivers pages of missed events, as fast as the subscriber reads them, and then the live events. */
  async #resume(
    orgId: string,
    from: EventPosition,
    { watch, subscriber }: { watch: Watch<Event>; subscriber: Subscriber<Event> },
  ): Promise<AsyncIterableIterator<WithCursor<Event>>> {
    const { queue, wants } = subscriber;
    const next = async (position: EventPosition): Promise<FoundEvents<Event>> => {
      const { moves } = watch;
      const [found] = await this.reader.read([{ orgId, from: position }]);
      if (found === undefined) throw new Error('no answer to a read of events');
      // If the common position has not moved meanwhile, this read has seen everything that the other subscribers got.
      if (!found.isWhole || watch.moves !== moves) return { ...found, isWhole: false };
      if (watch.position === null) move(watch, found.position);
      subscriber.had = found.position.seen;
      subscriber.isJoined = true;
      return found;
    };
    const first = await next(from);
    if ([from.seen, ...(from.within === null ? [] : [from.within])].some(({ end }) => end > first.now.end))
      throw invalid('after is beyond the last event', 'after');
    return new Resumed(this.#replay(first, { next, queue, wants }), queue);
  }

  async *#replay(
    first: FoundEvents<Event>,
    {
      next,
      queue,
      wants,
    }: Pick<Subscriber<Event>, 'queue' | 'wants'> & {
      next(position: EventPosition): Promise<FoundEvents<Event>>;
    },
  ): AsyncGenerator<WithCursor<Event>, undefined> {
    try {
      for (let found = first; ; found = await next(found.position)) {
        for (const { event, position } of found.events)
          if (wants(event)) yield { ...event, cursor: toCursor(position) };
        if (found.isWhole || queue.isEnded) break;
      }
      for (;;) {
        const item = await queue.next();
        if (item.done === true) return undefined;
        yield item.value;
      }
    } finally {
      void queue.return();
    }
  }
}

/** The missed events, then the subscriber's queue. Like the queue, it can be ended while it waits. */
class Resumed<Event> implements AsyncIterableIterator<Event> {
  readonly resumable = true;

  constructor(
    private readonly events: AsyncGenerator<Event, undefined>,
    private readonly queue: BoundedQueue<Event>,
  ) {}

  next(): Promise<IteratorResult<Event>> {
    return this.events.next();
  }

  return(): Promise<IteratorResult<Event>> {
    return this.queue.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

function move(watch: Pick<Watch<never>, 'position' | 'moves'>, position: EventPosition): void {
  watch.position = position;
  watch.moves++;
}
