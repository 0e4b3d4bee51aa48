import type { Page, PageQuery } from '../collections/page.js';
import type { ErrorCode } from '../contract/errors.js';
import type { Amounts, ClientInfo, JobStatus, Tool } from '../contract/words.js';
import type { OperationOutcome, OperationTally } from '../metering/index.js';
import type { LiveOptions } from '../contract/live.js';
import type { Principal } from '../access/access.types.js';

/** A row of `jobs` (contract 2.10). `inputParams` and `outputData` contain ids of files; the APIs replace them by signed URLs (decisions 9). */
export interface Job {
  id: string;
  orgId: string;
  userId: string;
  keyId: string;
  tool: Tool;
  status: JobStatus;
  /** 0 to 100. */
  progress: number;
  /** The contract's parameter names with defaults filled in; a file is `{"$file": "<file id>"}`. */
  inputParams: Record<string, unknown>;
  /** The contract's 4.9 shape; a file's url is `{"$file": "<file id>"}`. Null until completed. */
  outputData: Record<string, unknown> | null;
  /**
   * What the synchronous answer needs in addition to outputData (same file notation): what the handler returned, and once completed `settlement`:
   * `charged`, hundredths in the order of BUCKETS, and `balances`, `{bucket: {remaining}}` after it in whole units (-1: unlimited).
   */
  result: Record<string, unknown> | null;
  /** Whole credits. */
  estimatedCredits: number;
  actualCredits: number | null;
  errorMessage: string | null;
  /** The error's code if the handler threw an ApiError: a synchronous caller gets its status. Not shown in the job. */
  errorCode: ErrorCode | null;
  createdAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
  model: string;
  modelTier: string;
  /** Hundredths. */
  multiplier: number;
  operationId: string;
  requestId: string;
  attempt: number;
  fence: number;
  /** Sequence of the job's last event; 1 is `job.pending`. */
  sequence: number;
  /** The parts that its caller reads before the job completes; null: none. Not shown in the job. */
  live: LiveOptions | null;
}

export interface NewJob {
  /** `job_…`, made by the caller so that the reservation can name it. */
  id: string;
  principal: Principal;
  tool: Tool;
  model: string;
  modelTier: string;
  multiplier: number;
  inputParams: Record<string, unknown>;
  estimatedCredits: number;
  /** The reservation made for it (kept by the job from now on). */
  operationId: string;
  requestId: string;
  client: ClientInfo;
  /** The attribution of its operation, needed if the database loses the reservation. Default: none. */
  countedFor?: object;
  /** File ids that belong to the job (inputs): removed with it. */
  fileIds: string[];
  /** Row of `idempotency_keys` to bind in the same transaction. */
  idempotencyKey?: string;
  live?: LiveOptions;
}

export const JOB_EVENT_TYPES = [
  'job.pending',
  'job.processing',
  'job.progress',
  'job.completed',
  'job.failed',
  'job.cancelled',
] as const;

/** One entry of a job's history; `job` is the job as of that event. */
export interface JobEvent {
  sequence: number;
  type: (typeof JOB_EVENT_TYPES)[number];
  job: Job;
}

/** The result of a handler. The service commits it together with the settlement in one transaction, guarded by the fence. */
export interface JobOutcome {
  outputData: Record<string, unknown>;
  result: Record<string, unknown>;
  /** Real amounts, hundredths. */
  amounts: Amounts;
  /** For generation.completed: first output file id, units and their bucket. */
  outputFileId: string | null;
  /** File ids that the job produced. */
  fileIds: string[];
}

/** The data that a worker stores for a completed job, with the outcome for its operation's record. */
export interface CompletedWork extends JobOutcome {
  record: OperationOutcome;
}

/**
 * Orders that a job has placed at upstreams, by the name of the engine. Orders outlive the attempt that placed them: the next attempt continues
 * them.
 */
export interface JobOrders {
  jobId: string;
  find(engine: string): string | null;
  /** Whether the claim was committed: handlers begin before that. */
  held(): Promise<boolean>;
  /** Durable once it resolves. False if this attempt no longer has the job. */
  note(engine: string, reference: string): Promise<boolean>;
  /** Deletes an order that was cancelled, whoever holds the job. */
  withdrawn(engine: string, reference: string): Promise<void>;
  /** Whether another worker continues the aborted attempt's job, because this worker stops or has lost the lease. */
  isHandedOver(): boolean;
}

/** Shows the parts of an attempt's result before it is complete. */
export interface JobParts {
  readonly liveOptions: LiveOptions;
  /** Whether a part was shown; then another attempt cannot continue where this one breaks off. */
  readonly begun: boolean;
  /** Shown within 50 ms, in order. */
  give(bytes: Uint8Array): void;
}

export interface JobContext {
  job: Job;
  orders: JobOrders;
  /** Aborted on cancellation, lost lease, time limit and shutdown. */
  signal: AbortSignal;
  /** 0 to 100; never goes down within an attempt; throttled. */
  progress(percent: number): void;
  /** Collects this attempt's part of the operation's record. */
  tally: OperationTally;
  /** Null if nobody reads parts. */
  parts: JobParts | null;
}

export interface JobHandler {
  tool: Tool;
  /** Default concurrency of a worker process for this tool (`WORKER_CONCURRENCY` overrides). */
  concurrency: number;
  timeLimitMs: number;
  /** Thrown ApiErrors give their message as errorMessage; anything else `failureMessage`. */
  failureMessage: string;
  run(context: JobContext): Promise<JobOutcome>;
  /** Cancels an upstream order of a job that ended without a worker. */
  withdraw?(engine: string, reference: string): Promise<void>;
}

export type JobPage = Page<Job>;

/** The conditions of a list: a job must match one value of each given list. */
export interface JobFilter {
  tools?: Tool[] | null;
  statuses?: JobStatus[] | null;
  /** Ids of models that the jobs ran on. */
  models?: string[] | null;
  keyIds?: string[] | null;
  endUsers?: string[] | null;
  /** A part of the prompt or of the spoken text; upper and lower case are equal. */
  prompt?: string | null;
  /** Created at this time or later. */
  since?: Date | null;
  /** Created before this time. */
  until?: Date | null;
}

export interface JobQuery extends PageQuery {
  tool?: Tool;
  pending: boolean;
  filter?: JobFilter;
  /** Default: the newest first. */
  oldestFirst?: boolean;
}

export interface JobService {
  /** One transaction: job, its first event, outbox, ledger link, idempotency row. @throws rate_limited `Too many pending jobs` */
  create(input: NewJob): Promise<Job>;
  /** Checks whether the organisation may have one more unfinished job. Only a check: {@link create} decides. @throws rate_limited */
  requireRoom(principal: NewJob['principal']): Promise<void>;
  /** @throws not_found `Job not found` */
  get(orgId: string, id: string): Promise<Job>;
  /** The organisation's jobs among the ids, in one statement, in any order. */
  getMany(orgId: string, ids: string[]): Promise<Job[]>;
  /** Newest first. `after` and `nextCursor` are the id of the last job of a page. */
  list(orgId: string, query: JobQuery): Promise<JobPage>;
  /** The number of jobs on all pages of a list. */
  count(orgId: string, query: Pick<JobQuery, 'tool' | 'pending' | 'filter'>): Promise<number>;
  /** @throws not_found, invalid_request `Cannot cancel completed job` … */
  cancel(orgId: string, id: string): Promise<Job>;
  /** Waits until the job is finished, the time is over or the signal fires; returns the job's state at that time. */
  wait(orgId: string, id: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<Job>;
  /** See {@link LiveReading}. @throws ApiError server_error if parts of speech or text are lost */
  parts(job: Job): AsyncIterable<Buffer>;
  /** Events with sequence > after, at most `limit`, in order. */
  events(orgId: string, id: string, after: number, limit: number): Promise<JobEvent[]>;
}

/** Live job events for the subscribers of one process; the database has the authoritative events. */
export interface JobEvents {
  /**
   * One job's events. Without `after` the first event is the job's current state with its last sequence number; with `after`, exactly the events
   * after it. Ends after a terminal event.
   * @throws ApiError not_found `Job not found`; invalid_request for an `after` that is beyond the last event
   */
  progress(query: { orgId: string; jobId: string; after?: number }): Promise<AsyncIterableIterator<JobEvent>>;
  /**
   * All jobs' events of an organisation, or those of one job (null: of no job): from now on, or from the cursor of an earlier item.
   * @throws ApiError invalid_request for an invalid cursor
   */
  updates(query: {
    orgId: string;
    tool?: Tool;
    jobId?: string | null;
    after?: string;
  }): Promise<AsyncIterableIterator<JobEvent & { cursor: string }>>;
}
