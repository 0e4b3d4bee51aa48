import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { newId } from '../contract/ids.js';
import { attemptDelivery } from './attempt.js';
import type { AttemptDependencies, AttemptResult } from './attempt.js';
import { DatabaseClock } from './database-clock.js';
import {
  claimDeliveries,
  nextDueMs,
  recordAttempts,
  resealSecrets,
  sweepDeliveries,
} from './delivery.queries.js';
import type { FinishedAttempt } from './delivery.queries.js';
import type { ClaimedDelivery } from './webhook.types.js';

/** Limits of attempts in flight, for one process and for one webhook, so that a dead receiver uses only its own share. */
const MAX_IN_FLIGHT = 512;
const MAX_PER_WEBHOOK = 8;
/**
 * A webhook may use at most this part of the free places. The fuller the process, the fewer places a slow receiver gets, so there is always room
 * for others.
 */
const SHARE = 1 / 32;
/** The minimum that one claim may take, as a part of all places. */
const LEAST_CLAIM = 1 / 8;
/** Longer than any attempt can take; after it another process may try again. */
const CLAIM_MS = 60_000;
const POLL_MS = 5000;
/** Interval of polls while deliveries wait for places. */
const CROWDED_MS = 250;
const SWEEP_MS = 60_000;
/**
 * Finished attempts wait this long for others, so that a busy worker writes many rows in one statement. The wait is extended while more attempts
 * end, and skipped if none is in flight.
 */
const FLUSH_MS = 12;
const FLUSH_TIMES = 3;

export interface DeliveryWorkerOptions extends AttemptDependencies {
  database: Pick<Database, 'hints' | 'system'>;
  config: { webhooks: { retryDelaysMs: number[] }; jobs: { retentionDays: number } };
  logger: Logger;
  /** Whether all live processes can decrypt what this one encrypts. */
  isUnderstood: () => Promise<boolean>;
  /** Attempts in flight on this process; default 512. */
  maxInFlight?: number;
  /** Wraps each attempt: counts and traces it. */
  observe?: DeliveryObserver;
}

export type DeliveryObserver = (
  delivery: ClaimedDelivery,
  attempt: () => Promise<AttemptResult>,
) => Promise<AttemptResult>;

export interface DeliveryWorker {
  start(): void;
  /** Claims no more deliveries, and waits for the attempts in flight. Sends nothing to PostgreSQL. */
  land(): Promise<void>;
  /** Ends when the attempts in flight have been written. */
  close(): Promise<void>;
}

/** Delivers webhook events at least once: claims due deliveries, sends them, and writes their attempts in batches. */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  return new Worker(options);
}

class Worker implements DeliveryWorker {
  private readonly busy = new Map<string, number>();
  private inFlight = 0;
  /** Callbacks for the end of the last attempt in flight: of `land`, of `close`, and of the batching of writes. */
  private readonly landed: { stop?: () => void; close?: () => void; gather?: () => void } = {};
  private finished: FinishedAttempt[] = [];
  private flushing: Promise<void> | null = null;
  private timer: NodeJS.Timeout | null = null;
  private sweeper: NodeJS.Timeout | null = null;
  private unsubscribe: (() => void) | null = null;
  private claiming: Promise<void> | null = null;
  private readonly clock = new DatabaseClock();
  private again = false;
  /** Webhooks whose last claim filled all their places: more deliveries may wait. */
  private readonly full = new Set<string>();
  /** Whether places became free since the last claim. */
  private placesLeft = false;
  /** Whether deliveries were due that the last claim could not take. */
  private crowded = false;
  /** Whether no notification arrived since the last poll, which found nothing due soon: then the next poll need not claim. */
  private rested = false;
  private closed = false;

  private readonly places: number;

  constructor(private readonly options: DeliveryWorkerOptions) {
    this.places = options.maxInFlight ?? MAX_IN_FLIGHT;
  }

  start(): void {
    this.unsubscribe = this.options.database.hints.on('webhook', () => this.wake());
    this.sweeper = setInterval(() => void this.sweep(), SWEEP_MS);
    this.sweeper.unref();
    this.wake();
  }

  async land(): Promise<void> {
    this.closed = true;
    if (this.inFlight > 0) await new Promise<void>((resolve) => (this.landed.stop = resolve));
  }

  async close(): Promise<void> {
    this.closed = true;
    this.unsubscribe?.();
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.sweeper !== null) clearInterval(this.sweeper);
    await this.claiming;
    if (this.inFlight > 0) await new Promise<void>((resolve) => (this.landed.close = resolve));
    await this.flush();
  }

  private wake(): void {
    if (this.closed) return;
    this.again = true;
    this.claiming ??= this.claimAll().finally(() => {
      this.claiming = null;
      if (this.again) this.wake();
    });
  }

  /** Claims until nothing is due or no place is free, then sleeps until the next delivery is due. */
  private async claimAll(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    let waitMs = POLL_MS;
    try {
      await this.clock.synchronise(this.options.database.system);
      let claimed = 0;
      let due: number | null | undefined;
      if (this.rested) {
        this.rested = this.again = false;
        due = await this.nextDue();
        if (due !== null && due <= 0) this.again = true;
      }
      while (this.again && !this.closed) {
        this.again = false;
        due = undefined;
        const free = this.places - this.inFlight;
        // Does not claim all free places at once: each webhook's share is computed from what is left.
        const limit = Math.min(free, Math.max(Math.ceil(this.places * LEAST_CLAIM), Math.ceil(free / 2)));
        const now = await this.claim(limit, free);
        claimed += now;
        // If fewer than the limit were claimed, the rest is not due, or waits for a place of its webhook.
        if (now > 0 && now === limit) this.again = true;
      }
      // An attempt that ends wakes this loop; only if that may take long does the loop ask what is due next.
      this.crowded = claimed > 0 && this.full.size > 0;
      if (this.crowded) waitMs = CROWDED_MS;
      else {
        if (due === undefined) due = await this.nextDue();
        // Due but not claimed: the places of its webhook are taken, perhaps by another process.
        this.crowded = due !== null && due <= 0;
        if (due !== null)
          waitMs = Math.min(POLL_MS, Math.max(due, this.crowded || this.inFlight > 0 ? CROWDED_MS : 1));
      }
    } catch (error) {
      this.again = false;
      waitMs = 1000;
      this.options.logger.warn({ err: error }, 'webhook deliveries could not be claimed');
    }
    if (this.closed) return;
    this.timer = setTimeout(() => {
      this.rested = waitMs === POLL_MS;
      this.wake();
    }, waitMs);
  }

  private nextDue(): Promise<number | null> {
    return nextDueMs(this.options.database.system, this.firstDelayMs);
  }

  private get firstDelayMs(): number {
    return this.options.config.webhooks.retryDelaysMs[0] ?? 0;
  }

  private async claim(limit: number, free: number): Promise<number> {
    if (limit <= 0) return 0;
    const claim = newId('clm');
    const claimedAt = performance.now();
    const deliveries = await claimDeliveries(this.options.database.system, {
      claim,
      busy: Object.fromEntries(this.busy),
      limit,
      perWebhook: Math.max(1, Math.min(MAX_PER_WEBHOOK, Math.floor(free * SHARE))),
      claimMs: CLAIM_MS,
      firstDelayMs: this.firstDelayMs,
    });
    const taken = new Map<string, number>();
    for (const delivery of deliveries) {
      const { webhookId, places } = delivery;
      taken.set(webhookId, (taken.get(webhookId) ?? 0) + 1);
      if (taken.get(webhookId) === places) this.full.add(webhookId);
      void this.launch(delivery, { claim, claimedAt });
    }
    return deliveries.length;
  }

  private async launch(
    delivery: ClaimedDelivery,
    { claim, claimedAt }: { claim: string; claimedAt: number },
  ): Promise<void> {
    const { id, webhookId } = delivery;
    this.busy.set(webhookId, (this.busy.get(webhookId) ?? 0) + 1);
    this.inFlight += 1;
    const result = await this.attempt(delivery, claimedAt);
    const left = (this.busy.get(webhookId) ?? 1) - 1;
    if (left > 0) this.busy.set(webhookId, left);
    else this.busy.delete(webhookId);
    // A place became free for which a delivery may wait.
    if (this.full.delete(webhookId) || this.inFlight >= this.places) this.placesLeft = true;
    this.inFlight -= 1;
    if (result !== null) {
      const { ok, endedAt, attempt } = result;
      this.finished.push({ id, claim, kind: 'scheduled', ok, endedAt, attempt });
    }
    void this.flush();
    if (this.inFlight > 0) return;
    this.landed.gather?.();
    this.landed.stop?.();
    this.landed.close?.();
  }

  /**
   * Null: not attempted. The claim expires, and another process takes the delivery: one that can decrypt the secret, or that was not suspended
   * since its claim. (After a long suspension another process may already send it, with a newer secret.)
   */
  private async attempt(delivery: ClaimedDelivery, claimedAt: number): Promise<AttemptResult | null> {
    if (performance.now() - claimedAt > CLAIM_MS / 2) return null;
    try {
      const { observe = (_, attempt) => attempt() } = this.options;
      return await observe(delivery, () => attemptDelivery(delivery, this.options));
    } catch (error) {
      const { webhookId } = delivery;
      this.options.logger.error({ err: error, webhookId }, "a webhook's secret could not be decrypted");
      return null;
    }
  }

  private flush(): Promise<void> {
    this.flushing ??= this.writeAll().finally(() => {
      this.flushing = null;
      if (this.finished.length > 0 || this.placesLeft) void this.flush();
    });
    return this.flushing;
  }

  private async gather(): Promise<void> {
    let before = -1;
    for (let time = 0; time < FLUSH_TIMES && this.inFlight > 0 && this.finished.length > before; time++) {
      before = this.finished.length;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, FLUSH_MS);
        this.landed.gather = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Repeats failed writes: without the write the claim would expire and the event be sent twice. */
  private async writeAll(): Promise<void> {
    const { database, config, logger } = this.options;
    await this.gather();
    let retries = false;
    for (let tries = 0; this.finished.length > 0 && tries < 10; tries++) {
      const batch = this.finished.splice(0, 500);
      retries ||= batch.some((attempt) => !attempt.ok);
      try {
        await recordAttempts(database.system, batch, {
          delaysMs: config.webhooks.retryDelaysMs,
          clock: this.clock,
        });
      } catch (error) {
        this.finished.unshift(...batch);
        logger.warn({ err: error }, 'webhook attempts could not be written');
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
    // Only the database knows when a retry is due; and free places are filled by one claim.
    if (retries || this.placesLeft || this.crowded) this.wake();
    this.placesLeft = false;
  }

  private async sweep(): Promise<void> {
    try {
      await this.reseal();
      await sweepDeliveries(this.options.database.system, this.options.config.jobs.retentionDays);
    } catch (error) {
      this.options.logger.warn({ err: error }, 'webhook deliveries could not be swept');
    }
  }

  /** Waits while a live process does not know the current secret: it could no longer deliver. */
  private async reseal(): Promise<void> {
    const { database, secrets, isUnderstood, logger } = this.options;
    if (!secrets.changing || !(await isUnderstood())) return;
    const resealed = await resealSecrets(database.system, secrets);
    if (resealed > 0)
      logger.info({ resealed }, 'webhook secrets were encrypted with the current SIGNING_SECRET');
  }
}
