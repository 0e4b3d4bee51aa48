import type { Principal } from '../../access/access.types.js';
import type { BudgetRule } from '../../contract/budgets.js';
import { EACH_SUBJECT } from '../../contract/budgets.js';
import { BUCKETS } from '../../contract/words.js';
import { toVector } from '../amounts.js';
import type { AdmissionRequest, Attribution, OperationRequest } from '../metering.types.js';

/** A counter that counts an operation. */
export interface ConcernedCounter {
  rule: BudgetRule;
  /** Empty: the organisation. */
  subject: string;
}

const NOBODY: Attribution = { endUser: null, tags: [] };

/** What of an operation a budget counts, as SQL has it: 0 its cost, else the number of the bucket. */
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

/** Whether an operation can take something of what a budget counts. */
function counts(rule: BudgetRule, { price }: OperationRequest): boolean {
  const amount = amountOf(rule);
  if (amount === 0) return true;
  return 'promptTokens' in price ? amount <= 2 : (toVector(price)[amount - 1] ?? 0) > 0;
}

/** The counters of all budgets that concern a caller, by id of the budget, then by subject. */
export function countersOfCaller(
  principal: Principal,
  attribution: Attribution | undefined = principal.stamps,
): ConcernedCounter[] {
  return (principal.budgets ?? []).flatMap((rule) =>
    subjectsOf(rule, principal, attribution)
      .toSorted()
      .map((subject) => ({ rule, subject })),
  );
}

/** The counters of the budgets that concern an operation, in the order in which they are looked at: by id of the budget, then by subject. */
export function concernedCounters({
  principal,
  operation,
  attribution,
}: Pick<AdmissionRequest, 'principal' | 'operation' | 'attribution'>): ConcernedCounter[] {
  if (principal.budgets === undefined || operation === undefined) return [];
  return countersOfCaller(principal, attribution ?? NOBODY).filter(({ rule }) => counts(rule, operation));
}

/** Whether a hard budget in USD counts an operation: what it may cost must be known before. */
export function isBoundInUsd(
  request: Pick<AdmissionRequest, 'principal' | 'operation' | 'attribution'>,
): boolean {
  if (request.principal.budgets === undefined) return false;
  return concernedCounters(request).some(({ rule }) => rule.hard && rule.unit === 'usd');
}
