import { ApiError } from '../errors.js';
import type { FileService } from '../files/files.types.js';
import type { Job } from '../jobs/jobs.types.js';
import { BUCKETS } from '../vocabulary.js';
import type { Amounts, Bucket } from '../vocabulary.js';
import type { GenerationAnswer, GenerationKind } from './generation.types.js';

/** Seconds after which a caller who was told `Still processing` may ask again. */
const RETRY_AFTER_SECONDS = 5;

/** What the job's completion left in its row: the charge and the buckets after it, in the order of BUCKETS (hundredths; limit -1: unlimited). */
interface StoredSettlement {
  charged: number[];
  balances?: { limits: number[]; used: number[]; reserved: number[] };
}

/** Whole units with up to two decimals; -1 is unlimited. */
function remainingOf({ balances }: StoredSettlement, bucket: Bucket): number {
  const index = BUCKETS.indexOf(bucket);
  const limit = balances?.limits[index] ?? 0;
  if (limit === -1) return -1;
  return Math.max(0, limit - (balances?.used[index] ?? 0) - (balances?.reserved[index] ?? 0)) / 100;
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
    // The model that answered; tier and multiplier stay those of the model that was asked for.
    model: typeof model === 'string' ? model : job.model,
    modelTier: job.modelTier,
    data: files.sign(job.orgId, kind.present === undefined ? data : await kind.present(job, data)),
    usage: kind.usage(chargedOf(settlement), (bucket) => remainingOf(settlement, bucket), job),
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
