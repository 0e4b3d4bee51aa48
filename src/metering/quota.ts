import type { PlanCatalogue } from '../access/access.types.js';
import type { Database, SqlValue } from '../database/index.js';
import { ApiError, invalid, notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import type { Bucket, PlanCode } from '../contract/words.js';
import { BUCKETS } from '../contract/words.js';
import { allowancesOf } from './allowance.js';
import type { RawBalance } from './amounts.js';
import { balancesOf, bucketState, bucketStates } from './amounts.js';
import type { BucketState, QuotaReport } from './metering.types.js';
import { QUOTA, SET_USED, TOP_UP } from './metering.queries.js';

/** In hundredths; far above any allowance, and far below the limit of exact sums. */
const MAX_AMOUNT = 1e14;

interface QuotaAnswer {
  code: PlanCode;
  entitled: boolean;
  periodEnd: string;
  balance: RawBalance;
}

function checkAmount(bucket: Bucket, amount: number, name: 'amount' | 'used'): void {
  if (bucket === 'chat_tokens') {
    throw invalid('chat_tokens is a view of credits and cannot be changed by itself', 'bucket');
  }
  const least = name === 'used' ? 0 : 1;
  if (amount > MAX_AMOUNT) throw invalid(`${name} must be at most ${MAX_AMOUNT / 100}`, name);
  if (!Number.isSafeInteger(amount) || amount < least) {
    throw invalid(
      `${name} must be ${least === 0 ? 'zero or more' : 'more than zero'}, with at most two decimals`,
      name,
    );
  }
  // A fraction of a credit could never be used: every charge of credits is whole (decisions 2).
  if (bucket === 'credits' && amount % 100 !== 0) throw invalid(`${name} of credits must be whole`, name);
}

/** Reads and operators' changes of an organisation's buckets: one statement each. */
export function createQuotas({
  database,
  plans,
}: {
  database: Pick<Database, 'system'>;
  plans: PlanCatalogue;
}) {
  const ask = async <Answer>(
    statement: typeof QUOTA,
    orgId: string,
    ...values: SqlValue[]
  ): Promise<Answer> => {
    const [row] = await database.system.query<{ answer: Answer | null }>(statement, [
      orgId,
      allowancesOf(plans),
      ...values,
    ]);
    if (row === undefined || row.answer === null) throw notFound('Organization not found');
    return row.answer;
  };
  const change = async (
    statement: typeof QUOTA,
    { orgId, bucket }: { orgId: string; bucket: Bucket },
    ...values: SqlValue[]
  ): Promise<BucketState> => {
    const index = BUCKETS.indexOf(bucket) + 1;
    const { balance } = await ask<{ balance: RawBalance | null }>(statement, orgId, index, ...values);
    if (balance === null)
      throw new ApiError('invalid_request', `${bucket} is unlimited`, { param: 'bucket' });
    return bucketState(balance, bucket);
  };
  return {
    async quota(orgId: string): Promise<QuotaReport> {
      const { code, entitled, periodEnd, balance } = await ask<QuotaAnswer>(QUOTA, orgId);
      const { name, kind } = plans.plans[code];
      return { orgId, plan: { code, name, kind, entitled, periodEnd }, quotas: bucketStates(balance) };
    },
    async balances(orgId: string): Promise<Record<Bucket, BucketState>> {
      return balancesOf((await ask<QuotaAnswer>(QUOTA, orgId)).balance);
    },
    async topUp(orgId: string, bucket: Bucket, amount: number): Promise<BucketState> {
      checkAmount(bucket, amount, 'amount');
      return change(TOP_UP, { orgId, bucket }, amount, newId('op'));
    },
    async setUsed(orgId: string, bucket: Bucket, used: number): Promise<BucketState> {
      checkAmount(bucket, used, 'used');
      return change(SET_USED, { orgId, bucket }, used, newId('op'));
    },
  };
}
