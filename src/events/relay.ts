import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { newId } from '../ids.js';
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
  /** Signs `{"$file"}` references of an event's data when it is published (decisions.md 9). */
  render?: (orgId: string, data: EventEnvelope['data']) => EventEnvelope['data'];
  /** Rows of one publication. Default 500. */
  batchSize?: number;
  /** How long a claim holds; the rows of a dead relay wait for that long. Default 20,000. */
  claimMs?: number;
  /** Between looks without a hint. Default 1,000. */
  pollMs?: number;
  /** Least time between two looks: under load, events of so long share one claim. The first after a quiet time goes at once. Default 25. */
  paceMs?: number;
  /** The longest pause after a failed publication. Default 2,000. */
  maxBackoffMs?: number;
}

/**
 * Publishes the outbox, at least once and in order within a key. A row leaves the table only after the bus took it; where the bus is
 * away the rows wait, and one warning is logged for the outage.
 */
export function createRelay(options: RelayOptions): Relay {
  return new OutboxRelay(options);
}

class OutboxRelay implements Relay {
  private readonly outbox: Outbox;
  /** Published, still in the table: they leave it with the next claim. */
  private published: string[] = [];
  private failures = 0;
  private hinted = false;
  /** The next look is due within the pace. */
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
      // While the bus is away a hint does not shorten the pause between attempts.
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
      if (this.published.length > 0) await this.claim(0);
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
    const { pollMs = 1_000, maxBackoffMs = 2_000 } = this.options;
    if (this.timer) clearTimeout(this.timer);
    // What was published leaves the table with the next claim.
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
      while (!this.closed && (await this.step()));
      if (this.failures > 0) logger.info('events are published again');
      this.failures = 0;
    } catch (error) {
      if (this.failures++ === 0) logger.warn({ err: error }, 'events wait in the outbox: publishing failed');
    }
  }

  /** One claim and its publication. Answers whether to go on at once. */
  private async step(): Promise<boolean> {
    this.hinted = false;
    const limit = this.options.batchSize ?? 500;
    const rows = await this.claim(limit);
    if (rows.length === 0) return false;
    const ids = rows.map((row) => row.id);
    try {
      await this.options.bus.publish(rows.map((row) => this.toMessage(row)));
    } catch (error) {
      await this.outbox.release(ids);
      throw error;
    }
    this.published = ids;
    return rows.length >= limit;
  }

  private async claim(limit: number): Promise<OutboxRow[]> {
    const { published } = this;
    const rows = await this.outbox.claim({ limit, claimMs: this.options.claimMs ?? 20_000, published });
    this.published = [];
    return rows;
  }

  private toMessage({ topic, key, event }: OutboxRow): BusMessage {
    const { render } = this.options;
    return { topic, key, event: render ? { ...event, data: render(event.orgId, event.data) } : event };
  }
}
