import { BoundedQueue } from './bounded-queue.js';
import type { Sequenced } from './event-channel.js';
import type { EventHub } from './event-hub.js';

/** An entity's position, and its organisation. */
export interface EntityPosition {
  id: string;
  orgId: string;
  createdAt: Date;
  sequence: number;
}

const QUEUE_CAPACITY = 256;
const REMEMBERED = 4096;

export interface OrganizationSource<Event> {
  /** Positions of many entities in one read; unknown ids are left out. */
  positions(ids: string[]): Promise<EntityPosition[]>;
  /** Positions of the entities of these organisations that are unfinished or ended a moment ago. */
  moving(orgIds: string[]): Promise<EntityPosition[]>;
  /** The database's clock, which sets `createdAt`; this process's clock may differ. */
  now(): Promise<Date>;
  /** The id of the entity that an event is of. */
  idOf(event: Event): string;
  /** Whether the entity has no event after this one. */
  isLast(event: Event): boolean;
}

interface Subscriber<Event> {
  wants(event: Event): boolean;
  queue: BoundedQueue<Event>;
}

interface Watch<Event> {
  /** When its first subscriber came, by the database's clock. Null until that is known. */
  since: Date | null;
  /** The same by `performance.now()`: the database's clock is read later, and an entity may begin in between. */
  begunAt: number;
  queues: Set<Subscriber<Event>>;
  /** Entities that this organisation's subscribers follow now, each with a function that ends the following. */
  following: Map<string, () => void>;
  /** Entities that were delivered to their end, oldest first: a late notification must not deliver them again. */
  finished: Set<string>;
  /** Each entity's position at the last sweep. */
  swept: Map<string, number>;
}

/** The events of all entities of watched organisations. Each entity is followed from its first notification to its last event. */
export class OrganizationEvents<Event extends Sequenced> {
  readonly #watches = new Map<string, Watch<Event>>();
  readonly #looking = new Map<string, Promise<void>>();
  #now: Promise<Date> | null = null;
  #size = 0;

  constructor(
    private readonly source: OrganizationSource<Event>,
    private readonly hub: Pick<EventHub<never, never, Event>, 'open' | 'release' | 'logger'>,
  ) {}

  get size(): number {
    return this.#size;
  }

  /** @param wants which of the organisation's events */
  subscribe(orgId: string, wants: (event: Event) => boolean): AsyncIterableIterator<Event> {
    const watch = this.#watches.get(orgId) ?? newWatch<Event>();
    this.#watches.set(orgId, watch);
    const entry: Subscriber<Event> = {
      wants,
      queue: new BoundedQueue<Event>(QUEUE_CAPACITY, () => {
        this.#size--;
        watch.queues.delete(entry);
        if (watch.queues.size === 0) this.#stop(orgId, watch);
      }),
    };
    watch.queues.add(entry);
    this.#size++;
    // If the database is away, the next user reads it again.
    void this.#begin(watch).catch(() => undefined);
    return entry.queue;
  }

  /** Costs one query for an entity that is not followed yet, and nothing while nobody watches. */
  wake(id: string, sequence: number): void {
    if (this.#watches.size === 0 || this.#looking.has(id)) return;
    for (const { following, finished } of this.#watches.values()) {
      if (following.has(id) || finished.has(id)) return;
    }
    const looking = this.#follow(id, sequence)
      .catch((error: unknown) => {
        this.hub.logger.warn({ err: error, id }, 'an entity could not be followed');
      })
      .finally(() => this.#looking.delete(id));
    this.#looking.set(id, looking);
  }

  /**
   * Finds the entities whose notifications were all lost: those that began since the watch did, and those that moved since the last sweep. One
   * query for all watches.
   */
  async sweep(): Promise<void> {
    if (this.#watches.size === 0) return;
    const watched = [...this.#watches];
    await Promise.all(watched.map(([, watch]) => this.#begin(watch)));
    const swept = new Map(watched.map(([orgId]) => [orgId, new Map<string, number>()]));
    for (const { id, orgId, createdAt, sequence } of await this.source.moving([...swept.keys()])) {
      const watch = this.#watches.get(orgId);
      if (!watch?.since) continue;
      swept.get(orgId)?.set(id, sequence);
      const known = createdAt >= watch.since ? 0 : (watch.swept.get(id) ?? sequence);
      if (known < sequence) this.wake(id, known + 1);
    }
    for (const [orgId, watch] of watched) watch.swept = swept.get(orgId) ?? new Map();
  }

  /** Ends every subscriber's stream. */
  end(): void {
    for (const { queues } of [...this.#watches.values()]) {
      for (const { queue } of [...queues]) void queue.return();
    }
  }

  /** Simultaneous subscribers share one read of the clock. */
  async #begin(watch: Watch<Event>): Promise<Date> {
    if (watch.since !== null) return watch.since;
    this.#now ??= this.source.now().finally(() => {
      this.#now = null;
    });
    const now = await this.#now;
    return (watch.since ??= new Date(now.getTime() - (performance.now() - watch.begunAt)));
  }

  async #follow(id: string, sequence: number): Promise<void> {
    const [entity] = await this.source.positions([id]);
    const watch = entity && this.#watches.get(entity.orgId);
    if (!entity || !watch) return;
    // An entity that began during the watch is delivered from its first event, even if its first notifications were lost.
    const start = entity.createdAt >= (await this.#begin(watch)) ? 0 : sequence - 1;
    const channel = this.hub.open(entity, start);
    // If others opened the channel at a later position, the earlier events are read.
    const earlier = await channel.missing(start).catch((error: unknown) => {
      this.hub.release(id);
      throw error;
    });
    // Its subscribers may have left meanwhile, and others come.
    if (this.#watches.get(entity.orgId) !== watch) {
      this.hub.release(id);
      return await this.#follow(id, sequence);
    }
    let told = start;
    const tell = (event: Event): void => {
      if (event.sequence <= told) return;
      told = event.sequence;
      this.#arrived(watch, event);
    };
    const unlisten = channel.listen(tell);
    watch.following.set(id, () => {
      unlisten();
      this.hub.release(id);
    });
    for (const event of earlier) tell(event);
    for (const event of channel.since(told) ?? []) tell(event);
    channel.wake();
  }

  #arrived(watch: Watch<Event>, event: Event): void {
    for (const { wants, queue } of [...watch.queues]) {
      if (wants(event)) queue.push(event);
    }
    if (!this.source.isLast(event)) return;
    const id = this.source.idOf(event);
    remember(watch.finished, id);
    this.#leave(watch, id);
  }

  #leave(watch: Watch<Event>, id: string): void {
    watch.following.get(id)?.();
    watch.following.delete(id);
  }

  #stop(orgId: string, watch: Watch<Event>): void {
    for (const id of [...watch.following.keys()]) this.#leave(watch, id);
    if (this.#watches.get(orgId) === watch) this.#watches.delete(orgId);
  }
}

function newWatch<Event>(): Watch<Event> {
  return {
    since: null,
    begunAt: performance.now(),
    queues: new Set(),
    following: new Map(),
    finished: new Set(),
    swept: new Map(),
  };
}

function remember(finished: Set<string>, id: string): void {
  finished.add(id);
  if (finished.size <= REMEMBERED) return;
  for (const oldest of finished) {
    finished.delete(oldest);
    return;
  }
}
