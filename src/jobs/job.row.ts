import type { ErrorCode } from '../contract/errors.js';
import type { JobStatus, Tool } from '../contract/words.js';
import type { Job, JobEvent } from './jobs.types.js';

/** A row of `jobs` as PostgreSQL's driver gives it. */
export interface JobRow {
  id: string;
  org_id: string;
  user_id: string;
  key_id: string;
  tool: Tool;
  status: JobStatus;
  progress: number;
  input_params: Record<string, unknown>;
  output_data: Record<string, unknown> | null;
  result: Record<string, unknown> | null;
  estimated_credits: number;
  actual_credits: number | null;
  error_message: string | null;
  error_code: ErrorCode | null;
  created_at: Date;
  started_at: Date | null;
  completed_at: Date | null;
  model: string;
  model_tier: string;
  multiplier: number;
  operation_id: string;
  request_id: string;
  attempt: number;
  fence: number;
  sequence: number;
  live: Job['live'];
}

/** The columns of {@link JobRow}. Only the transitions (moves/) use the columns of claims, leases and deadlines. */
export const JOB_COLUMNS = `id, org_id, user_id, key_id, tool, status, progress, input_params, output_data, result,
  estimated_credits, actual_credits, error_message, error_code, created_at, started_at, completed_at, model, model_tier,
  multiplier, operation_id, request_id, attempt, fence, sequence, live`;

export function toJob(row: JobRow): Job {
  return {
    id: row.id,
    orgId: row.org_id,
    userId: row.user_id,
    keyId: row.key_id,
    tool: row.tool,
    status: row.status,
    progress: row.progress,
    inputParams: row.input_params,
    outputData: row.output_data,
    result: row.result,
    estimatedCredits: row.estimated_credits,
    actualCredits: row.actual_credits,
    errorMessage: row.error_message,
    errorCode: row.error_code,
    createdAt: row.created_at,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    model: row.model,
    modelTier: row.model_tier,
    multiplier: row.multiplier,
    operationId: row.operation_id,
    requestId: row.request_id,
    attempt: row.attempt,
    fence: row.fence,
    sequence: row.sequence,
    live: row.live,
  };
}

/** A row of `job_events` joined with its job's row. Columns of the event have the prefix `e_`. */
export interface JobEventRow extends JobRow {
  e_sequence: number;
  e_type: JobEvent['type'];
  e_status: JobStatus;
  e_progress: number;
  e_attempt: number;
  e_fence: number;
  e_started_at: Date | null;
}

/** The job as of that event. Only a job's last event can have an outcome, so the outcome is read from the job itself. */
export function toJobEvent(row: JobEventRow): JobEvent {
  const job = toJob(row);
  const outcome = row.e_status === job.status && job.completedAt !== null;
  const asOf: Partial<Job> = {
    status: row.e_status,
    progress: row.e_progress,
    attempt: row.e_attempt,
    fence: row.e_fence,
    startedAt: row.e_started_at,
    sequence: row.e_sequence,
  };
  const unfinished: Partial<Job> = {
    outputData: null,
    result: null,
    actualCredits: null,
    errorMessage: null,
    errorCode: null,
    completedAt: null,
  };
  return {
    sequence: row.e_sequence,
    type: row.e_type,
    job: { ...job, ...asOf, ...(outcome ? {} : unfinished) },
  };
}

const JOB_ID = /^job_[0-9a-z]{26}$/;

/** Whether a caller's string has the form of a job id; other strings need no query. */
export function isJobId(id: string): boolean {
  return JOB_ID.test(id);
}
