import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { runForOrg } from '../processes/index.js';
import type { Permit } from '../processes/index.js';
import type { Sql } from '../database/database.types.js';
import { ApiError } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import { CANCELLED, OperationTally, SUCCEEDED } from '../metering/index.js';
import type { Model } from '../models/models.types.js';
import type { FileService } from '../files/files.types.js';
import type { CompletedWork, Job, JobHandler, JobOutcome } from './jobs.types.js';
import type { ClaimedJob } from './moves/claim.queries.js';
import { isBoundInUsd } from './moves/bound.queries.js';
import { failJob, noteSpent } from './moves/finish.queries.js';
import { forgetOrders } from './moves/orders.queries.js';
import { requeueJobs } from './moves/requeue.queries.js';
import { PartWriter } from './job.parts.js';
import { createJobOrders } from './orders.js';

/** Why an attempt was stopped from outside. */
export type StopReason = 'cancelled' | 'lost' | 'timeout' | 'shutdown';

/** The functions of its worker that an attempt needs. */
export interface AttemptOptions {
  claimed: ClaimedJob;
  /** Whether the claim was committed. The handler runs before that is known; nothing is written before it. */
  held: Promise<boolean>;
  handler: JobHandler;
  /** The permit that the attempt holds. */
  permit: Permit;
  workerId: string;
  sql: Sql;
  files: Pick<FileService, 'removeFilesOfFailedWork'>;
  logger: Logger;
  mayUseFallback?(keyId: string, model: Model): Promise<boolean>;
  complete(job: Job, outcome: CompletedWork): Promise<boolean>;
  progress(job: Job, percent: number): void;
}

/** setTimeout's largest delay. */
const MAX_DELAY_MS = 2 ** 31 - 1;
/** A handler that ignores its abort signal holds its slot at most this long. */
const DEAF_MS = 5_000;
const WRITE_RETRY_MS = 500;

/** One attempt at one job, from the claim to its end. Every write is guarded by its fence. */
export class RunningJob {
  readonly job: Job;
  /** Resolves when the attempt is over and its slot is free; never rejects. */
  readonly ended: Promise<void>;
  private readonly orders: ReturnType<typeof createJobOrders>;
  private readonly tally: OperationTally;
  private readonly parts: PartWriter | null;
  private readonly abort = new AbortController();
  private reason: StopReason | null = null;
  private over = false;
  private stopping = false;
  private committed = false;
  private completed = false;

  constructor(private readonly options: AttemptOptions) {
    this.job = options.claimed.job;
    this.tally = new OperationTally(this.job.createdAt.getTime());
    this.tally.pricedOnly = () => isBoundInUsd(options.sql, this.job.operationId);
    const { mayUseFallback } = options;
    if (mayUseFallback !== undefined)
      this.tally.mayUseFallback = (model) => mayUseFallback(this.job.keyId, model);
    const isHandedOver = (): boolean => this.reason === 'shutdown' || this.reason === 'lost';
    this.orders = createJobOrders({ ...options, isHandedOver });
    const { live: liveOptions } = this.job;
    this.parts = liveOptions === null ? null : new PartWriter({ ...options, job: this.job, liveOptions });
    void options.held.then((held) => (this.committed = held));
    this.ended = this.run();
  }

  get stopReason(): StopReason | null {
    return this.reason;
  }

  /** Whether the attempt only waits (for an upstream's work) and has given up its permit. */
  get rests(): boolean {
    return !this.options.permit.held;
  }

  /** Whether the claim is committed. Before that there is no lease to renew. */
  get isHeld(): boolean {
    return this.committed;
  }

  /** Aborts the handler. Only the first reason counts. */
  stop(reason: StopReason): void {
    if (reason === 'shutdown') this.stopping = true;
    if (this.reason) return;
    this.reason = reason;
    this.abort.abort(new DOMException(`Job ${reason}`, 'AbortError'));
  }

  private async run(): Promise<void> {
    const { claimed, logger } = this.options;
    const delay = Math.min(Math.max(0, claimed.remainingMs), MAX_DELAY_MS);
    const timer = setTimeout(() => this.stop('timeout'), delay);
    try {
      const outcome = withParts(await this.handle(), await this.parts?.flush());
      clearTimeout(timer);
      const record = this.tally.outcome(SUCCEEDED);
      // The work is done: a time limit or a stop no longer discards the result; only a worker that has taken the job over does.
      const complete = async (): Promise<boolean> =>
        (this.completed = await this.options.complete(this.job, { ...outcome, record }));
      const refused = await this.write(complete);
      if (refused) await this.fail(this.options.handler.failureMessage, 'server_error');
      else if (!this.completed) await this.noteSpent();
    } catch (error) {
      await this.failed(error);
    } finally {
      clearTimeout(timer);
      this.parts?.drop();
      this.over = true;
      this.options.permit.release();
      // If somebody else ended the job meanwhile, that did not include the files that this attempt stored later.
      if (!this.completed) await this.options.files.removeFilesOfFailedWork(this.job.orgId, this.job.id);
      logger.debug({ jobId: this.job.id, stopReason: this.reason }, 'job attempt ended');
    }
  }

  private async handle(): Promise<JobOutcome> {
    const { handler, logger } = this.options;
    const { job, abort } = this;
    const progress = (percent: number): void => {
      const report = (): void => {
        if (!this.over) this.options.progress(job, percent);
      };
      if (this.committed) report();
      else void this.options.held.then((held) => held && report());
    };
    const { orders, tally, parts } = this;
    const context = { job, signal: abort.signal, progress, orders, tally, parts };
    const work = runForOrg(job.orgId, async () => await handler.run(context), this.options.permit);
    const deaf = (async (): Promise<never> => {
      await new Promise((resolve) => abort.signal.addEventListener('abort', resolve, { once: true }));
      await Promise.race([work, sleep(DEAF_MS, undefined, { ref: false })]);
      throw abort.signal.reason;
    })();
    deaf.catch((error: unknown) => logger.trace({ err: error, jobId: job.id }, 'attempt stopped'));
    return Promise.race([work, deaf]);
  }

  private async failed(error: unknown): Promise<void> {
    // Cancelled and lost jobs are not ours any more; a stopping worker returns the lease itself.
    if (this.reason !== null && this.reason !== 'timeout') return this.noteSpent();
    const { logger, handler } = this.options;
    if (this.reason === 'timeout') return this.fail('Job timed out', 'server_error');
    if (!(error instanceof ApiError))
      logger.error({ err: error, jobId: this.job.id, tool: this.job.tool }, 'job handler failed');
    // The database was away, which is not the job's fault: another attempt finishes it within its time limit.
    if (error instanceof ApiError && error.code === 'unavailable') return this.requeue();
    if (error instanceof ApiError) await this.fail(error.message, error.code);
    else await this.fail(handler.failureMessage, 'server_error');
    await this.forgetOrders();
  }

  private async requeue(): Promise<void> {
    const { sql, workerId } = this.options;
    await this.noteSpent();
    await this.write(async () => (await requeueJobs(sql, workerId, [this.job])).length > 0);
  }

  /** This attempt's cost is part of the job's cost, even if another attempt ends the job. */
  private async noteSpent(): Promise<void> {
    if (this.tally.isEmpty) return;
    const record = this.tally.outcome(CANCELLED);
    await this.write(async () => {
      await noteSpent(this.options.sql, this.job, record);
      return true;
    });
  }

  private async fail(message: string, code: ErrorCode): Promise<void> {
    const { sql, workerId } = this.options;
    const record = this.tally.outcome({ status: 'failed', errorCode: code });
    await this.write(() => failJob(sql, { workerId, attempt: this.job, message, code, record }));
  }

  /** Orders that the upstream itself has ended need no cancelling. If this write is lost, the upstream only gets a needless cancellation. */
  private async forgetOrders(): Promise<void> {
    if (!this.orders.any()) return;
    await forgetOrders(this.options.sql, this.job.id).catch(() => undefined);
  }

  /**
   * Repeats until the database has answered. Repeating is safe: the transition happens once, or finds that the attempt has lost the job.
   * @returns true if the data cannot be stored: another attempt would have the same result
   */
  private async write(move: () => Promise<boolean>): Promise<boolean> {
    const { logger, held } = this.options;
    if (!(await held)) return false;
    for (;;) {
      try {
        const moved = await move();
        if (!moved)
          logger.info(
            { jobId: this.job.id, fence: this.job.fence },
            'an attempt ended after its job had moved on',
          );
        return false;
      } catch (error) {
        logger.error({ err: error, jobId: this.job.id }, 'the end of a job could not be written');
        if (isOfData(error)) return true;
        if (!isTransient(error) || this.stopping || this.reason === 'lost' || this.reason === 'cancelled')
          return false;
        await sleep(WRITE_RETRY_MS);
      }
    }
  }
}

/** The number of parts that were shown before the complete result. */
function withParts(outcome: JobOutcome, parts = 0): JobOutcome {
  return parts === 0 ? outcome : { ...outcome, result: { ...outcome.result, parts } };
}

const sqlStateOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.length === 5 ? code : '';
};

/** SQLSTATEs for data that cannot be stored. */
const isOfData = (error: unknown): boolean => /^2[23]/.test(sqlStateOf(error));

/** Whether a repetition can help. PostgreSQL refuses a faulty statement every time; then the lease expires and the sweep decides. */
const isTransient = (error: unknown): boolean => !/^(22|23|42|P0)/.test(sqlStateOf(error));
