import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database, DedicatedSql } from '../database/database.types.js';
import type { FileService } from '../files/files.types.js';
import { newId } from '../contract/ids.js';
import { FairSemaphore } from '../processes/index.js';
import type { Permit } from '../processes/index.js';
import type { Tool } from '../contract/words.js';
import type { Model } from '../models/models.types.js';
import type { JobHandler } from './jobs.types.js';
import { takeJobs } from './moves/claim.queries.js';
import type { ClaimedJob, ClaimSlot } from './moves/claim.queries.js';
import { createCompletion } from './moves/complete.queries.js';
import { claimOrphanedOrders } from './moves/orders.queries.js';
import { forgetParts } from './moves/parts.queries.js';
import { requeueJobs, sweepJobs } from './moves/requeue.queries.js';
import { renewLeases } from './moves/leases.queries.js';
import { createProgressReporter } from './progress.js';
import type { ProgressReporter } from './progress.js';
import { RunningJob } from './running-job.js';

/**
 * Claims jobs and runs their handlers, up to its concurrency for each tool plus the reserved permits for other organisations. Its loop is not that of
 * `lease.worker.ts`: a job needs a permit of its tool, starts before its claim is committed, and is requeued before its handler has ended. One loop for
 * both would have a branch for each of these.
 */
export interface JobWorker {
  readonly id: string;
  /** Number of running jobs. */
  readonly size: number;
  start(): void;
  /**
   * Stops: claims no more jobs, lets running jobs end for up to `graceMs`, then aborts them and returns them to pending without counting the
   * attempt. Resolves when no job is running.
   */
  stop(options?: { graceMs?: number }): Promise<void>;
}

/** The dependencies of a worker. The times can be set for fault tests. */
export interface JobWorkerOptions {
  database: Pick<Database, 'system' | 'hints' | 'dedicated'>;
  handlers: JobHandler[];
  /** Removes the files of jobs that fail, or were cancelled meanwhile. */
  files: Pick<FileService, 'removeFilesOfFailedWork'>;
  /** `WORKER_CONCURRENCY`: replaces the handlers' own concurrency. */
  concurrency?: Partial<Record<Tool, number>>;
  logger: Logger;
  /** Whether a key may use a fallback at present. Default: every fallback. */
  mayUseFallback?(keyId: string, model: Model): Promise<boolean>;
  /** Default 30,000. */
  leaseMs?: number;
  /** Default 8,000. */
  heartbeatMs?: number;
  /** Interval of the search for jobs and lost leases without a notification; default 2,000. */
  sweepMs?: number;
  /** When a job is cancelled or fails, its own worker has this long to cancel its upstream orders; then another worker does. Default 15,000. */
  withdrawAfterMs?: number;
}

/** How long a stopping worker lets its jobs run (decisions 9). */
const GRACE_MS = 25_000;
/** Minimum interval at which a worker without free permits searches for jobs of organisations that hold no permit. */
const NEWCOMERS_EVERY_MS = 100;
/** Interval at which parts of ended jobs are forgotten. */
const FORGET_PARTS_MS = 20_000;

export function createJobWorker(options: JobWorkerOptions): JobWorker {
  return new Worker(options);
}

class Worker implements JobWorker {
  readonly id = newId('wrk');
  private readonly running = new Map<string, RunningJob>();
  private readonly handlers: Map<Tool, JobHandler>;
  private readonly permits: Map<Tool, FairSemaphore>;
  private readonly progress: ProgressReporter;
  private readonly complete: ReturnType<typeof createCompletion>;
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly offs: (() => void)[] = [];
  private readonly leaseMs: number;
  private stopping = false;
  private claiming: Promise<void> | null = null;
  private wanted = false;
  private lookedForNewcomersAt = Number.NEGATIVE_INFINITY;
  private newcomers: NodeJS.Timeout | null = null;
  /** Cancellations that arrived while a claim's answer was on its way: the claim may contain these jobs. */
  private readonly cancelledMeanwhile = new Set<string>();
  private renewedAt = 0;
  private lookedForOrdersAt = Number.NEGATIVE_INFINITY;
  private forgotPartsAt = performance.now();
  /** The connection on which claims are sent, one after the other. */
  private connection: Promise<DedicatedSql> | null = null;

  constructor(private readonly options: JobWorkerOptions) {
    const { database, handlers, logger } = options;
    this.leaseMs = options.leaseMs ?? 30_000;
    this.handlers = new Map(handlers.map((handler) => [handler.tool, handler]));
    this.permits = new Map(handlers.map((handler) => [handler.tool, this.semaphoreFor(handler)]));
    this.progress = createProgressReporter({ sql: database.system, workerId: this.id, logger });
    this.complete = createCompletion(database, this.id);
  }

  get size(): number {
    return this.running.size;
  }

  start(): void {
    const { hints } = this.options.database;
    this.offs.push(
      hints.on('job_pending', (tool) => this.wakeFor(tool as Tool)),
      hints.on('job_cancel', (id) => this.cancel(id)),
    );
    // A random interval, so that workers which started together do not sweep at the same time.
    const sweepMs = (this.options.sweepMs ?? 2_000) * (0.9 + Math.random() * 0.1);
    this.timers.push(
      setInterval(() => void this.sweep(), sweepMs),
      setInterval(() => void this.heartbeat(), this.options.heartbeatMs ?? 8_000),
    );
    void this.sweep();
  }

  async stop({ graceMs = GRACE_MS }: { graceMs?: number } = {}): Promise<void> {
    this.stopping = true;
    if (this.newcomers !== null) clearTimeout(this.newcomers);
    for (const off of this.offs.splice(0)) off();
    await this.claiming;
    const grace = new AbortController();
    const over = sleep(graceMs, undefined, { signal: grace.signal }).catch(() => undefined);
    await Promise.race([this.allEnded(), over]);
    grace.abort();
    await this.giveUp();
    for (const timer of this.timers.splice(0)) clearInterval(timer);
    await this.progress.close();
    await (await this.connection)?.close();
  }

  private async allEnded(): Promise<void> {
    await Promise.all([...this.running.values()].map((attempt) => attempt.ended));
  }

  /** Leases are returned first, so that other workers can begin while the handlers here end; the fence rejects the writes of the old attempts. */
  private async giveUp(): Promise<void> {
    const attempts = [...this.running.values()];
    for (const attempt of attempts) attempt.stop('shutdown');
    try {
      const jobs = attempts.filter(({ stopReason }) => stopReason === 'shutdown').map(({ job }) => job);
      await requeueJobs(this.options.database.system, this.id, jobs);
    } catch (error) {
      this.options.logger.error(
        { err: error },
        'leases could not be released; they will expire by themselves',
      );
    }
    await Promise.all(attempts.map((attempt) => attempt.ended));
  }

  private cancel(id: string): void {
    if (this.claiming) this.cancelledMeanwhile.add(id);
    this.running.get(id)?.stop('cancelled');
  }

  private semaphoreFor({ tool, concurrency }: JobHandler): FairSemaphore {
    const permits = this.options.concurrency?.[tool] ?? concurrency;
    return new FairSemaphore({ permits, onFree: () => this.wakeFor(tool) });
  }

  /** The jobs that can be claimed. The reserve for newcomers is checked only at an interval, because one organisation's backlog can never use it. */
  private freeSlots(): ClaimSlot[] {
    const looks = performance.now() - this.lookedForNewcomersAt >= NEWCOMERS_EVERY_MS;
    const slots: ClaimSlot[] = [];
    for (const { tool, timeLimitMs } of this.handlers.values()) {
      const { free = 0, reserve = 0 } = this.permits.get(tool)?.available ?? {};
      const forNewcomers = looks ? reserve : 0;
      if (free + forNewcomers > 0) slots.push({ tool, free, forNewcomers, timeLimitMs });
    }
    if (looks && slots.length > 0) this.lookedForNewcomersAt = performance.now();
    return slots;
  }

  /** Searches again later: another worker may have locked candidates that it did not claim, and newcomers may use the reserve while no permit is free. */
  private lookAgain(slots: ClaimSlot[]): void {
    const free = slots.filter(({ tool }) => (this.permits.get(tool)?.available.free ?? 0) > 0);
    if (free.length > 0) this.wanted = true;
    if (free.length < slots.length) this.wakeForNewcomers();
  }

  private wakeFor(tool: Tool): void {
    const { free = 0, reserve = 0 } = this.permits.get(tool)?.available ?? {};
    if (free > 0) this.wake();
    if (reserve > 0) this.wakeForNewcomers();
  }

  /** Claims immediately after a quiet time. */
  private wakeForNewcomers(): void {
    if (this.newcomers !== null || this.stopping) return;
    const dueMs = this.lookedForNewcomersAt + NEWCOMERS_EVERY_MS - performance.now();
    this.newcomers = setTimeout(
      () => {
        this.newcomers = null;
        this.wake();
      },
      Math.max(0, Math.ceil(dueMs)),
    );
  }

  /** Claims soon; hints that come while a claim is under way cause one more. */
  private wake(): void {
    this.wanted = true;
    if (this.stopping || this.claiming) return;
    // One completion can end several attempts, which free their slots in the same turn, so one claim fills them all.
    this.claiming = nextTurn()
      .then(() => this.claim())
      .finally(() => {
        this.claiming = null;
        this.cancelledMeanwhile.clear();
      });
  }

  private async claim(): Promise<void> {
    const { database, logger } = this.options;
    try {
      const connection = await (this.connection ??= database.dedicated());
      while (this.wanted && !this.stopping) {
        this.wanted = false;
        const slots = this.freeSlots();
        if (slots.length === 0) return;
        const resting = [...this.running.values()].filter(({ rests }) => rests).map(({ job }) => job.id);
        const { jobs, held } = takeJobs(connection, {
          workerId: this.id,
          slots,
          resting,
          leaseMs: this.leaseMs,
        });
        const attempts = (await jobs).map((job) => this.begin(job, held));
        if (!(await held)) await this.abandonClaims(attempts);
        else if (attempts.length > 0) this.lookAgain(slots);
      }
    } catch (error) {
      logger.warn({ err: error }, 'claiming jobs failed; the next sweep tries again');
    }
  }

  /** Drops attempts whose claim was not committed, as far as known. If it was committed after all, returns the leases. */
  private async abandonClaims(attempts: RunningJob[]): Promise<void> {
    for (const attempt of attempts) attempt.stop('lost');
    const jobs = attempts.map(({ job }) => job);
    await requeueJobs(this.options.database.system, this.id, jobs);
    throw new Error('the claim was lost before it was committed');
  }

  /** The permit of a claimed job. The claim followed the semaphore's rules, so a permit is free. */
  private permitFor({ tool, orgId }: ClaimedJob['job']): Permit {
    const permits = this.permits.get(tool);
    if (permits === undefined) throw new Error(`claimed a job of tool ${tool} without permits`);
    return permits.take(orgId);
  }

  private begin(claimed: ClaimedJob, held: Promise<boolean>): RunningJob {
    const { database, logger } = this.options;
    const handler = this.handlers.get(claimed.job.tool);
    if (!handler) throw new Error(`claimed a job of tool ${claimed.job.tool} without a handler`);
    if (this.running.size === 0) this.renewedAt = performance.now();
    const attempt = new RunningJob({
      claimed,
      held,
      handler,
      permit: this.permitFor(claimed.job),
      workerId: this.id,
      sql: database.system,
      files: this.options.files,
      logger,
      ...(this.options.mayUseFallback && { mayUseFallback: this.options.mayUseFallback }),
      complete: this.complete,
      progress: (job, percent) => this.progress.report(job, percent),
    });
    this.running.set(attempt.job.id, attempt);
    if (this.cancelledMeanwhile.has(attempt.job.id)) attempt.stop('cancelled');
    void attempt.ended.then(() => {
      this.progress.forget(attempt.job);
      if (this.running.get(attempt.job.id) === attempt) this.running.delete(attempt.job.id);
    });
    return attempt;
  }

  private async sweep(): Promise<void> {
    try {
      const { pending, orders } = await sweepJobs(this.options.database.system);
      if (pending) {
        this.wake();
        this.wakeForNewcomers();
      }
      if (orders) await this.withdrawLeft();
      if (performance.now() - this.forgotPartsAt >= FORGET_PARTS_MS) {
        this.forgotPartsAt = performance.now();
        await forgetParts(this.options.database.system);
      }
    } catch (error) {
      this.options.logger.warn({ err: error }, 'the sweep of jobs failed; the next one tries again');
    }
  }

  /** Cancels the upstream orders of jobs that ended while no worker held them. */
  private async withdrawLeft(): Promise<void> {
    const { database, withdrawAfterMs = 15_000, logger } = this.options;
    if (performance.now() - this.lookedForOrdersAt < withdrawAfterMs / 3) return;
    this.lookedForOrdersAt = performance.now();
    for (const { jobId, tool, engine, reference } of await claimOrphanedOrders(
      database.system,
      withdrawAfterMs,
    ))
      this.handlers
        .get(tool)
        ?.withdraw?.(engine, reference)
        .catch((error: unknown) =>
          logger.warn({ err: error, jobId, engine }, 'an order at an upstream could not be cancelled'),
        );
  }

  /** Renews the leases of running jobs. Aborts jobs that are no longer ours, and all jobs if no renewal succeeded in time. */
  private async heartbeat(): Promise<void> {
    const attempts = [...this.running.values()].filter(({ isHeld }) => isHeld);
    if (attempts.length === 0) return;
    const began = performance.now();
    try {
      const held = await renewLeases(this.options.database.system, 'jobs', {
        workerId: this.id,
        holds: attempts.map(({ job }) => job),
        leaseMs: this.leaseMs,
      });
      this.renewedAt = began;
      for (const attempt of attempts) if (!held.has(attempt.job.id)) attempt.stop('lost');
    } catch (error) {
      this.options.logger.warn({ err: error }, 'leases could not be renewed');
      if (performance.now() - this.renewedAt < this.leaseMs) return;
      for (const attempt of attempts) attempt.stop('lost');
    }
  }
}
