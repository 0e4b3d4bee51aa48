import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { newId } from '../contract/ids.js';
import type { Bus, BusMessage, EventEnvelope } from './events.types.js';
import { createOutbox } from './outbox.js';
import type { Outbox, OutboxRow } from './outbox.js';

/** Carries events from the outbox to the bus. */
export interface Relay {
  start(): void;
  /** Finishes the publication in hand; what is not published stays in the outbox. */
  close(): Promise<void>;
}

/** What a relay needs. */
export interface RelayOptions {
  database: Pick<Database, 'system' | 'hints'>;
  bus: Pick<Bus, 'publish'>;
  logger: Logger;
  /** Signs `{"$file"}` references of an event's data when it is published (decisions 9). */
  render?: (event: EventEnvelope) => EventEnvelope['data'];
  /** Rows of one publication. Default 1,000. */
  batchSize?: number;
  /** Duration of the lease on publishing. After a relay died while publishing, nobody publishes for this long. Default 20,000. */
  leaseMs?: number;
  /** Interval of polls without a notification. Default 2,000. */
  pollMs?: number;
  /**
   * Least time between two polls: under load, the events of this time share one publication. The first event after an idle time is published
   * immediately. Default 25.
   */
  paceMs?: number;
  /** The longest pause after a failed publication. Default 2,000. */
  maxBackoffMs?: number;
}

/**
 * Publishes the outbox, at least once and in order within a key. A row is deleted only after the bus has accepted it. While the bus is away the
 * rows wait, and one warning is logged for the outage.
 */
export function createRelay(options: RelayOptions): Relay {
  return new OutboxRelay(options);
}

class OutboxRelay implements Relay {
  private readonly outbox: Outbox;
  /** Published rows that are still in the table; they are deleted when the next rows are taken. */
  private published: string[] = [];
  private failures = 0;
  private hinted = false;
  /** The next poll waits for `paceMs`. */
  private pacing = false;
  private lastLook = Number.NEGATIVE_INFINITY;
  private closed = false;
  private running: Promise<void> | null = null;
  private timer: NodeJS.Timeout | null = null;
  private offHint: (() => void) | null = null;

  constructor(private readonly options: RelayOptions) {
    this.outbox = createOutbox(options.database, newId('rly'));
  }

  start(): void {
    this.offHint = this.options.database.hints.on('outbox', () => {
      this.hinted = true;
      // While the bus is away, a notification does not shorten the pause between attempts.
      if (this.failures === 0) this.runPaced();
    });
    this.run();
  }

  async close(): Promise<void> {
    this.closed = true;
    this.offHint?.();
    if (this.timer) clearTimeout(this.timer);
    await this.running;
    try {
      await this.take(0, []);
    } catch (error) {
      this.options.logger.warn({ err: error }, 'the last published events will be published again');
    }
  }

  private runPaced(): void {
    if (this.closed || this.running || this.pacing) return;
    if (performance.now() - this.lastLook >= this.paceMs) this.run();
    else this.schedule();
  }

  private run(): void {
    if (this.closed || this.running) return;
    if (this.timer) clearTimeout(this.timer);
    this.pacing = false;
    this.lastLook = performance.now();
    this.running = this.drain().finally(() => {
      this.running = null;
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.closed) return;
    const { pollMs = 2_000, maxBackoffMs = 2_000 } = this.options;
    if (this.timer) clearTimeout(this.timer);
    // The next poll deletes the published rows and gives the lease up.
    this.pacing = this.failures === 0 && (this.hinted || this.published.length > 0);
    const idle = this.pacing ? this.paceMs : pollMs;
    const delay = this.failures > 0 ? Math.min(maxBackoffMs, 50 * 2 ** Math.min(this.failures, 10)) : idle;
    this.timer = setTimeout(() => this.run(), delay);
  }

  private get paceMs(): number {
    return this.options.paceMs ?? 25;
  }

  private async drain(): Promise<void> {
    const { logger } = this.options;
    try {
      await this.publishAll();
      if (this.failures > 0) logger.info('publishing events works again');
      this.failures = 0;
    } catch (error) {
      if (this.failures++ === 0) logger.warn({ err: error }, 'events wait in the outbox: publishing failed');
    }
  }

  /** While one batch is on its way the next is fetched; publications follow each other, so that the order within a key holds. */
  private async publishAll(): Promise<void> {
    const { batchSize: limit = 1_000, bus } = this.options;
    let next: Promise<OutboxRow[]> | null = this.take(limit, []);
    while (next !== null) {
      const rows: OutboxRow[] = await next;
      if (rows.length === 0) return;
      const ids = rows.map((row) => row.id);
      next = rows.length >= limit && !this.closed ? this.take(limit, ids) : null;
      // Its error is handled when it is awaited.
      next?.catch(() => undefined);
      try {
        await bus.publish(rows.map((row) => this.toMessage(row)));
      } catch (error) {
        await next?.catch(() => undefined);
        await this.take(0, []);
        throw error;
      }
      this.published.push(...ids);
    }
  }

  private async take(limit: number, held: string[]): Promise<OutboxRow[]> {
    this.hinted = false;
    const published = this.published.splice(0);
    try {
      return await this.outbox.take({ limit, leaseMs: this.options.leaseMs ?? 20_000, published, held });
    } catch (error) {
      this.published.unshift(...published);
      throw error;
    }
  }

  /** An event without file references is published unchanged. */
  private toMessage(row: OutboxRow): BusMessage {
    const { render } = this.options;
    const { json } = row.stored;
    if (render === undefined || (!json.includes('"$file"') && !json.includes('&signature='))) return row;
    const { topic, key, event } = row;
    return { topic, key, event: { ...event, data: render(event) } };
  }
}
