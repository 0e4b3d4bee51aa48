import { ApiError } from '../errors.js';
import type { FileService } from '../files/files.types.js';
import type { Job } from '../jobs/jobs.types.js';
import { BUCKETS } from '../vocabulary.js';
import type { Amounts, Bucket } from '../vocabulary.js';
import type { GenerationAnswer, GenerationKind } from './generation.types.js';

/** Seconds after which a caller who was told `Still processing` may ask again. */
const RETRY_AFTER_SECONDS = 5;

/** What the job's completion left in its row: the charge and the buckets after it (hundredths, in the order of BUCKETS). */
interface StoredSettlement {
  charged: (number | null)[];
  balances: Partial<Record<Bucket, { remaining: number }>>;
}

export function createdSeconds(job: Job): number {
  return Math.floor(job.createdAt.getTime() / 1000);
}

/** The answer to `?async=true`. */
export function acceptedAnswer(job: Job): GenerationAnswer {
  return {
    job,
    created: createdSeconds(job),
    model: job.model,
    modelTier: job.modelTier,
    data: null,
    usage: null,
  };
}

/** The synchronous answer of a completed job: files signed, usage as of its settlement. */
export async function completedAnswer(
  kind: GenerationKind<unknown>,
  job: Job,
  files: FileService,
): Promise<GenerationAnswer> {
  const { settlement, data, model } = (job.result ?? {}) as {
    settlement?: StoredSettlement;
    data?: unknown;
    model?: unknown;
  };
  const charged: Amounts = {};
  BUCKETS.forEach((bucket, index) => {
    const amount = Number(settlement?.charged[index] ?? 0);
    if (amount !== 0) charged[bucket] = amount;
  });
  const remaining = (bucket: Bucket) => settlement?.balances[bucket]?.remaining ?? 0;
  return {
    job,
    created: createdSeconds(job),
    // The model that answered; tier and multiplier stay those of the model that was asked for.
    model: typeof model === 'string' ? model : job.model,
    modelTier: job.modelTier,
    data: files.sign(job.orgId, kind.present === undefined ? data : await kind.present(job, data)),
    usage: kind.usage(charged, remaining, job),
  };
}

/** The error that a synchronous caller gets of a job that has no result (yet). Always names the job in `X-Job-Id`. */
export function unfinishedError(job: Job): ApiError {
  const headers = { 'X-Job-Id': job.id };
  if (job.status === 'cancelled') return new ApiError('conflict', 'Job was cancelled', { headers });
  if (job.status === 'failed')
    return new ApiError(job.errorCode ?? 'server_error', job.errorMessage ?? 'Generation failed', {
      headers,
    });
  return new ApiError('unavailable', 'Still processing', { headers, retryAfter: RETRY_AFTER_SECONDS });
}
