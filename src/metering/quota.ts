import type { PlanCatalogue } from '../access/access.types.js';
import { recordChange } from '../audit/index.js';
import type { AuditAction } from '../audit/index.js';
import type { Database, Sql, SqlValue } from '../database/index.js';
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

/** The fields of a bucket in the audit log. */
const auditedOf = ({ limit, used, remaining }: BucketState) => ({ limit, used, remaining });

/** Reads and changes of an organisation's buckets, one statement each. An operator's change also writes the audit log's row. */
export function createQuotas({
  database,
  plans,
}: {
  database: Pick<Database, 'system' | 'transaction'>;
  plans: PlanCatalogue;
}) {
  const ask = async <Answer>(
    sql: Sql,
    statement: typeof QUOTA,
    [orgId, ...values]: [string, ...SqlValue[]],
  ): Promise<Answer> => {
    const [row] = await sql.query<{ answer: Answer | null }>(statement, [
      orgId,
      allowancesOf(plans),
      ...values,
    ]);
    if (row === undefined || row.answer === null) throw notFound('Organization not found');
    return row.answer;
  };
  const quotaOf = (sql: Sql, orgId: string) => ask<QuotaAnswer>(sql, QUOTA, [orgId]);
  /** Includes the bucket before and after the change, for the audit log. */
  const change = (
    statement: typeof QUOTA,
    { orgId, bucket, action }: { orgId: string; bucket: Bucket; action: AuditAction },
    ...values: SqlValue[]
  ): Promise<BucketState> =>
    database.transaction(async (sql) => {
      const index = BUCKETS.indexOf(bucket) + 1;
      const before = auditedOf(bucketState((await quotaOf(sql, orgId)).balance, bucket));
      const changed = await ask<{ balance: RawBalance | null }>(sql, statement, [orgId, index, ...values]);
      const { balance } = changed;
      if (balance === null)
        throw new ApiError('invalid_request', `${bucket} is unlimited`, { param: 'bucket' });
      const state = bucketState(balance, bucket);
      await recordChange(sql, { orgId, action, subject: { id: bucket }, before, after: auditedOf(state) });
      return state;
    });
  return {
    async quota(orgId: string): Promise<QuotaReport> {
      const { code, entitled, periodEnd, balance } = await quotaOf(database.system, orgId);
      const { name, kind } = plans.plans[code];
      return { orgId, plan: { code, name, kind, entitled, periodEnd }, quotas: bucketStates(balance) };
    },
    async balances(orgId: string): Promise<Record<Bucket, BucketState>> {
      return balancesOf((await quotaOf(database.system, orgId)).balance);
    },
    async topUp(orgId: string, bucket: Bucket, amount: number): Promise<BucketState> {
      checkAmount(bucket, amount, 'amount');
      return change(TOP_UP, { orgId, bucket, action: 'quota_topped_up' }, amount, newId('op'));
    },
    async setUsed(orgId: string, bucket: Bucket, used: number): Promise<BucketState> {
      checkAmount(bucket, used, 'used');
      return change(SET_USED, { orgId, bucket, action: 'quota_set' }, used, newId('op'));
    },
  };
}
