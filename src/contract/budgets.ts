/** The words of budgets (beyond 13.3). */
import { BUCKETS } from './buckets.js';
import type { Bucket } from './buckets.js';

/** Whose calls a budget counts. */
export const BUDGET_SCOPES = ['organization', 'key', 'endUser', 'tag'] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];

/** What it counts of them: what they cost at their upstreams, or what they take of a bucket. */
export const BUDGET_UNITS = ['usd', ...BUCKETS] as const;
export type BudgetUnit = 'usd' | Bucket;

/** Calendar periods, UTC; `total` never ends. */
export const BUDGET_PERIODS = ['total', 'day', 'week', 'month'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** The subject of a budget that counts for each key, end user or tag by itself. */
export const EACH_SUBJECT = '*';

/** An amount as callers see it: of USD a decimal as text, of a bucket a number of its units. */
export type BudgetAmount = string | number;

/** What admission knows of a budget. */
export interface BudgetRule {
  id: string;
  name: string;
  scope: BudgetScope;
  /** Null: the organisation. */
  subject: string | null;
  unit: BudgetUnit;
  /** Nano-dollars, or hundredths of the bucket's unit. */
  cap: bigint;
  period: BudgetPeriod;
  hard: boolean;
}
