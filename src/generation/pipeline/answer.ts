import { ApiError } from '../../contract/errors.js';
import type { FileService } from '../../files/files.types.js';
import type { Job } from '../../jobs/jobs.types.js';
import { BUCKETS } from '../../contract/words.js';
import type { Amounts, Bucket } from '../../contract/words.js';
import type { GenerationAnswer, GenerationKind } from '../generation.types.js';

/** `Retry-After` of `Still processing`, in seconds. */
const RETRY_AFTER_SECONDS = 5;

/** The settlement in a completed job's row: the charge (hundredths, in the order of BUCKETS) and what was left after it (units). */
interface StoredSettlement {
  charged: number[];
  balances?: Partial<Record<Bucket, { remaining: number }>>;
}

function chargedOf({ charged }: StoredSettlement): Amounts {
  const amounts: Amounts = {};
  BUCKETS.forEach((bucket, index) => {
    const amount = charged[index] ?? 0;
    if (amount !== 0) amounts[bucket] = amount;
  });
  return amounts;
}

export function createdSeconds(job: Job): number {
  return Math.floor(job.createdAt.getTime() / 1000);
}

/** The answer to `?async=true`. A retry that comes before the first answer is stored gets the same answer, whatever the job's state is by then. */
export function acceptedAnswer(job: Job): GenerationAnswer {
  const made = asMade(job);
  return {
    job: made,
    created: createdSeconds(made),
    model: made.model,
    modelTier: made.modelTier,
    data: null,
    usage: null,
  };
}

function asMade(job: Job): Job {
  const { model } = job.inputParams;
  return {
    ...job,
    status: 'pending',
    progress: 0,
    outputData: null,
    result: null,
    actualCredits: null,
    errorMessage: null,
    errorCode: null,
    startedAt: null,
    completedAt: null,
    // The requested model, not a fallback.
    model: typeof model === 'string' ? model : job.model,
    attempt: 0,
    fence: 0,
    sequence: 1,
  };
}

/** The synchronous answer of a completed job: files signed, usage as of its settlement. */
export async function completedAnswer(
  kind: GenerationKind<unknown>,
  job: Job,
  files: FileService,
): Promise<GenerationAnswer> {
  const {
    data,
    model,
    settlement = { charged: [] },
  } = (job.result ?? {}) as {
    data?: unknown;
    model?: unknown;
    settlement?: StoredSettlement;
  };
  return {
    job,
    created: createdSeconds(job),
    // The model that answered; tier and multiplier stay those of the requested model.
    model: typeof model === 'string' ? model : job.model,
    modelTier: job.modelTier,
    data: files.sign(job.orgId, kind.present === undefined ? data : await kind.present(job, data)),
    usage: kind.usage(chargedOf(settlement), (bucket) => settlement.balances?.[bucket]?.remaining ?? 0, job),
  };
}

/** The synchronous caller's error for a job without a result. Always has the job in `X-Job-Id`. */
export function unfinishedError(job: Job): ApiError {
  const headers = { 'X-Job-Id': job.id };
  if (job.status === 'cancelled') return new ApiError('conflict', 'Job was cancelled', { headers });
  if (job.status === 'failed')
    return new ApiError(job.errorCode ?? 'server_error', job.errorMessage ?? 'Generation failed', {
      headers,
    });
  return new ApiError('unavailable', 'Still processing', { headers, retryAfter: RETRY_AFTER_SECONDS });
}

/** The error of a completed job whose answer cannot be made now. Names the job in `X-Job-Id`. */
export function unansweredError(job: Job, cause: unknown): ApiError {
  const headers = { 'X-Job-Id': job.id };
  const retryAfter = RETRY_AFTER_SECONDS;
  return new ApiError('unavailable', 'Service temporarily unavailable', { headers, retryAfter, cause });
}
