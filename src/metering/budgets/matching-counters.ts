import type { Principal } from '../../access/access.types.js';
import type { BudgetRule } from '../../contract/budgets.js';
import { EACH_SUBJECT } from '../../contract/budgets.js';
import { BUCKETS } from '../../contract/words.js';
import { toVector } from '../amounts.js';
import type { AdmissionRequest, Attribution, OperationRequest } from '../metering.types.js';

/** A counter that counts an operation. */
export interface MatchingCounter {
  rule: BudgetRule;
  /** Empty for the organisation. */
  subject: string;
}

const NOBODY: Attribution = { endUser: null, tags: [] };

/** The quantity that a budget counts, as a number for SQL: 0 is the operation's cost, other values are the number of a bucket. */
export const amountOf = ({ unit }: BudgetRule): number => (unit === 'usd' ? 0 : BUCKETS.indexOf(unit) + 1);

/** The subjects that a budget counts an operation for. */
function subjectsOf(
  { scope, subject }: BudgetRule,
  { keyId }: Principal,
  attribution: Attribution | undefined,
): readonly string[] {
  if (scope === 'organization') return [''];
  const { endUser = null, tags = [] } = attribution ?? {};
  const all = scope === 'key' ? [keyId] : scope === 'tag' ? tags : endUser === null ? [] : [endUser];
  return subject === EACH_SUBJECT ? all : all.filter((one) => one === subject);
}

/** Whether an operation can use the quantity that a budget counts. */
function counts(rule: BudgetRule, { price }: OperationRequest): boolean {
  const amount = amountOf(rule);
  if (amount === 0) return true;
  return 'promptTokens' in price ? amount <= 2 : (toVector(price)[amount - 1] ?? 0) > 0;
}

/** The counters of all budgets that count a caller's operations, sorted by the budget's id, then by subject. */
export function countersOfCaller(
  principal: Principal,
  attribution: Attribution | undefined = principal.stamps,
): MatchingCounter[] {
  return (principal.budgets ?? []).flatMap((rule) =>
    subjectsOf(rule, principal, attribution)
      .toSorted()
      .map((subject) => ({ rule, subject })),
  );
}

/** The counters of the budgets that count an operation, in the order in which they are checked: by the budget's id, then by subject. */
export function matchingCounters({
  principal,
  operation,
  attribution,
}: Pick<AdmissionRequest, 'principal' | 'operation' | 'attribution'>): MatchingCounter[] {
  if (principal.budgets === undefined || operation === undefined) return [];
  return countersOfCaller(principal, attribution ?? NOBODY).filter(({ rule }) => counts(rule, operation));
}

/** Whether a hard budget in USD counts an operation; then its maximum cost must be known before. */
export function isBoundInUsd(
  request: Pick<AdmissionRequest, 'principal' | 'operation' | 'attribution'>,
): boolean {
  if (request.principal.budgets === undefined) return false;
  return matchingCounters(request).some(({ rule }) => rule.hard && rule.unit === 'usd');
}
