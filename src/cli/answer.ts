import type { BucketState } from '../metering/index.js';
import type { UsageRecord } from '../usage/index.js';
import type { Amounts } from '../contract/words.js';

/** What cannot be written is a fault, told in a sentence; whoever reads no further (`| head`) has what they wanted. */
function failWriting({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') return;
  process.stderr.write(`error: the result could not be written: ${message}\n`);
  process.exitCode = 1;
}

/** A command's answer: one JSON document on standard output. */
export function print(answer: unknown): void {
  process.stdout.once('error', failWriting).write(`${JSON.stringify(answer, null, 2)}\n`);
}

/** A bucket as GET /quota shows it (contract 2.14). */
export function toBucketAnswer(state: BucketState) {
  const { remaining, limit, used, usagePercent } = state;
  return { remaining, limit, used, usage_percent: usagePercent };
}

/** A ledger row with its amounts in the buckets' units. */
export function toUsageAnswer(record: UsageRecord) {
  const units = (amounts: Amounts) =>
    Object.fromEntries(Object.entries(amounts).map(([bucket, amount]) => [bucket, amount / 100]));
  return { ...record, amounts: units(record.amounts), granted: units(record.granted) };
}
