import type { Amounts, Bucket } from '../contract/words.js';
import { BUCKETS } from '../contract/words.js';
import type { BucketState } from './metering.types.js';

/**
 * A balance as SQL returns it (`penstock_balance_json`): hundredths by bucket in the order of BUCKETS. An allowance of -1 is unlimited;
 * `chat_tokens` has no allowance of its own.
 */
export interface RawBalance {
  allowance: number[];
  topupStart: number[];
  topupAdded: number[];
  used: number[];
  reserved: number[];
}

const CREDITS = BUCKETS.indexOf('credits');
const CHAT_TOKENS = BUCKETS.indexOf('chat_tokens');

/** Amounts as SQL takes them: one whole number of hundredths for each bucket. */
export function toVector(amounts: Amounts): number[] {
  return BUCKETS.map((bucket) => amounts[bucket] ?? 0);
}

/** The amounts that are not zero. */
export function toAmounts(vector: readonly number[]): Amounts {
  const amounts: Amounts = {};
  for (const [index, bucket] of BUCKETS.entries()) {
    const amount = vector[index] ?? 0;
    if (amount !== 0) amounts[bucket] = amount;
  }
  return amounts;
}

/** `amounts` minus `less`, for each bucket. */
export function difference(amounts: Amounts, less: Amounts): Amounts {
  const more: Amounts = {};
  for (const bucket of BUCKETS) {
    const amount = (amounts[bucket] ?? 0) - (less[bucket] ?? 0);
    if (amount !== 0) more[bucket] = amount;
  }
  return more;
}

/**
 * The price of tokens (decisions 2): `ceil(tokens / 1000 × multiplier)` whole credits, at least 1, and tokens × multiplier `chat_tokens`.
 * Computed in hundredths, without floating-point fractions.
 */
export function tokenAmounts(totalTokens: number, multiplier: number): Amounts {
  const credits = Math.max(1, Math.ceil((totalTokens * multiplier) / 100_000));
  return { credits: credits * 100, chat_tokens: totalTokens * multiplier };
}

/** In hundredths; -1 is unlimited. The limit of `chat_tokens` is 1000 times that of credits. */
function limitOf(raw: RawBalance, index: number): number {
  if (index === CHAT_TOKENS) {
    const credits = limitOf(raw, CREDITS);
    return credits === -1 ? -1 : credits * 1000;
  }
  const allowance = raw.allowance[index] ?? 0;
  return allowance === -1 ? -1 : allowance + (raw.topupStart[index] ?? 0) + (raw.topupAdded[index] ?? 0);
}

/** What is left of a bucket, in hundredths; -1 is unlimited. `chat_tokens` never shows more than the credits can pay. */
function remainingOf(raw: RawBalance, index: number): number {
  const limit = limitOf(raw, index);
  if (limit === -1) return -1;
  const left = Math.max(0, limit - (raw.used[index] ?? 0) - (raw.reserved[index] ?? 0));
  return index === CHAT_TOKENS ? Math.min(left, remainingOf(raw, CREDITS) * 1000) : left;
}

/** A bucket as GET /quota shows it. */
export function bucketState(raw: RawBalance, bucket: Bucket): BucketState {
  const index = BUCKETS.indexOf(bucket);
  const limit = limitOf(raw, index);
  const used = raw.used[index] ?? 0;
  const taken = { used: used / 100, reserved: (raw.reserved[index] ?? 0) / 100 };
  if (limit === -1) return { bucket, remaining: -1, limit: -1, ...taken, usagePercent: 0 };
  return {
    bucket,
    remaining: remainingOf(raw, index) / 100,
    limit: limit / 100,
    ...taken,
    usagePercent: limit === 0 ? 0 : Math.round((used * 10_000) / limit) / 100,
  };
}

/** All buckets, in their order. */
export function bucketStates(raw: RawBalance): BucketState[] {
  return BUCKETS.map((bucket) => bucketState(raw, bucket));
}

/** All buckets by name. */
export function balancesOf(raw: RawBalance): Record<Bucket, BucketState> {
  return Object.fromEntries(BUCKETS.map((bucket) => [bucket, bucketState(raw, bucket)])) as Record<
    Bucket,
    BucketState
  >;
}
