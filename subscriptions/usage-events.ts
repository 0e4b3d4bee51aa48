import type { Logger } from 'pino';
import { invalid } from '../src/contract/errors.js';
import type { QuotaReport } from '../src/metering/metering.types.js';
import type { UsageEvents, UsageStreamSource, UsageUpdate } from '../src/usage/stream.types.js';
import { EventChannel } from './event-channel.js';
import { EventCursor } from './event-cursor.js';
import { LatestValue } from './latest-value.js';
import { WatchedOrganizations } from './watched.js';

/** The interval of reads. Settlements send no notifications, which would cost each of them more than one read costs all watched organisations. */
const LOOK_MS = 250;
const QUOTA_MS = 500;
/** A reader that is further behind is stalled. It holds only its position; unread records stay in the ledger. */
const MAX_LAG = 10_000;

export interface UsageHubDependencies {
  source: UsageStreamSource;
  quota(orgId: string): Promise<QuotaReport>;
  logger: Logger;
}

export interface UsageHub extends UsageEvents {
  /** Open subscriptions; tests check that none leaks. */
  readonly size: number;
  /** Ends every stream, because the process stops; clients resume at another process. */
  drain(): void;
  close(): Promise<void>;
}

/** The live usage and quotas of one process (beyond 13.7). */
export function createUsageHub(dependencies: UsageHubDependencies): UsageHub {
  const updates = new Updates(dependencies);
  const quotas = new Quotas(dependencies);
  const drain = (): void => {
    updates.drain();
    quotas.drain();
  };
  return {
    get size() {
      return updates.size + quotas.size;
    },
    follow: (orgId, after) => updates.follow(orgId, after),
    quota: (orgId) => quotas.follow(orgId),
    drain,
    async close() {
      drain();
      await Promise.all([updates.close(), quotas.close()]);
    },
  };
}

/** Subscribers of one organisation share a channel, so that each row is read once. */
class Updates {
  readonly #channels = new Map<string, EventChannel<UsageUpdate>>();
  readonly #cursors = new Set<EventCursor<UsageUpdate>>();
  readonly #watched: WatchedOrganizations;

  constructor(private readonly dependencies: UsageHubDependencies) {
    const { source, logger } = dependencies;
    this.#watched = new WatchedOrganizations({
      everyMs: LOOK_MS,
      logger,
      look: async (orgIds) => {
        for (const [orgId, last] of await source.positions(orgIds)) this.#channels.get(orgId)?.wake(last);
      },
    });
  }

  get size(): number {
    return this.#cursors.size;
  }

  /** @see UsageEvents.follow */
  async follow(orgId: string, after?: number): Promise<EventCursor<UsageUpdate>> {
    if (after !== undefined && (!Number.isSafeInteger(after) || after < 0))
      throw invalid('after must be a sequence number', 'after');
    const last = (await this.dependencies.source.positions([orgId])).get(orgId) ?? 0;
    if (after !== undefined && after > last)
      throw invalid(`after is beyond the last record (${last})`, 'after');
    const start = after ?? Math.max(0, last - 1);
    const channel = this.#channelOf(orgId, last);
    const cursor = new EventCursor(channel, {
      after: start,
      maxLag: MAX_LAG,
      isLast: () => false,
      onClose: () => {
        this.#cursors.delete(cursor);
        if (this.#watched.remove(orgId)) this.#channels.delete(orgId);
      },
    });
    this.#cursors.add(cursor);
    channel.wake(last);
    return cursor;
  }

  drain(): void {
    for (const cursor of [...this.#cursors]) void cursor.return();
  }

  close(): Promise<void> {
    return this.#watched.close();
  }

  /** The channel begins at the ledger's end. A subscriber reads older records page by page. */
  #channelOf(orgId: string, last: number): EventChannel<UsageUpdate> {
    this.#watched.add(orgId);
    let channel = this.#channels.get(orgId);
    if (channel === undefined) {
      const { source, logger } = this.dependencies;
      const read = (from: number, limit: number) => source.updates(orgId, from, limit);
      const failed = (error: unknown) =>
        logger.warn({ err: error, orgId }, 'reading usage failed; the next read tries again');
      channel = new EventChannel(last, read, failed);
      this.#channels.set(orgId, channel);
    }
    return channel;
  }
}

interface Watching {
  reader: LatestValue<QuotaReport>;
  /** By `performance.now()`. */
  lastSentAt: number;
  /** The state on which the subscriber's last quota is based. */
  state: string | null;
}

/** Subscribers of one organisation share its reads. */
class Quotas {
  readonly #watching = new Map<string, Set<Watching>>();
  readonly #watched: WatchedOrganizations;

  constructor(private readonly dependencies: UsageHubDependencies) {
    const { source, logger } = dependencies;
    this.#watched = new WatchedOrganizations({
      everyMs: LOOK_MS,
      logger,
      look: async (orgIds) => {
        const states = await source.quotaStates(orgIds);
        await Promise.all([...states].map(([orgId, state]) => this.#tell(orgId, state)));
      },
    });
  }

  get size(): number {
    let size = 0;
    for (const { size: readers } of this.#watching.values()) size += readers;
    return size;
  }

  /** @see UsageEvents.quota */
  follow(orgId: string): LatestValue<QuotaReport> {
    const others = this.#watching.get(orgId) ?? new Set();
    this.#watching.set(orgId, others);
    const reader = new LatestValue<QuotaReport>(() => {
      others.delete(watching);
      if (this.#watched.remove(orgId)) this.#watching.delete(orgId);
    });
    const watching: Watching = { reader, lastSentAt: Number.NEGATIVE_INFINITY, state: null };
    others.add(watching);
    this.#watched.add(orgId);
    // If the database is away, the next read delivers it.
    this.dependencies.source
      .quotaStates([orgId])
      .then((states) => this.#tell(orgId, states.get(orgId) ?? ''))
      .catch(() => undefined);
    return reader;
  }

  drain(): void {
    for (const readers of [...this.#watching.values()])
      for (const { reader } of [...readers]) void reader.return();
  }

  close(): Promise<void> {
    return this.#watched.close();
  }

  /** Sends the quota to subscribers that have an older state and got nothing for half a second. The quota is read after its state, so that no change is missed. */
  async #tell(orgId: string, state: string): Promise<void> {
    const now = performance.now();
    const due = [...(this.#watching.get(orgId) ?? [])].filter(
      (watching) => watching.state !== state && now - watching.lastSentAt >= QUOTA_MS,
    );
    if (due.length === 0) return;
    for (const watching of due) Object.assign(watching, { state, toldAt: now });
    try {
      const report = await this.dependencies.quota(orgId);
      for (const { reader } of due) reader.set(report);
    } catch (error) {
      for (const watching of due) Object.assign(watching, { state: null, toldAt: Number.NEGATIVE_INFINITY });
      throw error;
    }
  }
}
