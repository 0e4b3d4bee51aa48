import type { Principal } from '../../access/access.types.js';
import type { Page, PageQuery } from '../../collections/page.js';
import type { BudgetAmount, BudgetPeriod, BudgetScope, BudgetUnit } from '../../contract/budgets.js';

/** The amounts of a budget, or of one of its subjects, in the current period. */
export interface BudgetFigures {
  spent: BudgetAmount;
  /** The amount that open calls may still spend. */
  reserved: BudgetAmount;
}

/** A budget as callers see it (beyond 13.3); times are ISO 8601. */
export interface Budget extends BudgetFigures {
  id: string;
  name: string;
  scope: BudgetScope;
  /** Null: the organisation. `*`: each subject separately. */
  subject: string | null;
  unit: BudgetUnit;
  limit: BudgetAmount;
  period: BudgetPeriod;
  /** Calls count from this time on: the later of the period's beginning and the budget's creation. */
  countsFrom: string;
  /** Null if the period is total. */
  resetsAt: string | null;
  /** Null for `*`: each subject has its own amounts. */
  remaining: BudgetAmount | null;
  hard: boolean;
  /** Parts of the limit, such as 0.5. */
  thresholds: number[];
}

/** The amounts of one subject of a budget. */
export interface BudgetSubject extends BudgetFigures {
  /** A key's id, an end user or a tag; null: the organisation. */
  subject: string | null;
  remaining: BudgetAmount;
}

export interface NewBudget {
  name: string;
  scope: string;
  /** Absent for a budget of the organisation. */
  subject?: string | null | undefined;
  unit: string;
  limit: BudgetAmount;
  period: string;
  /** Default: true. */
  hard?: boolean | null | undefined;
  /** Default: 0.5, 0.8 and 1. */
  thresholds?: readonly number[] | null | undefined;
}

/** The fields to change; absent fields keep their values. */
export type BudgetChange = Partial<Pick<NewBudget, 'name' | 'limit' | 'hard' | 'thresholds'>>;

/** Budgets of organisations. Every change applies to the next call on every process. */
export interface BudgetService {
  /** Sorted by id, the order in which they are checked. */
  list(orgId: string): Promise<Budget[]>;
  /** A page of them, in the same order. @throws ApiError invalid_request for a cursor that is none */
  page(orgId: string, query: PageQuery): Promise<Page<Budget>>;
  /** @throws ApiError not_found */
  get(orgId: string, id: string): Promise<Budget>;
  /** The budgets that count all calls of a caller, each with its amounts; a budget of `*` with the amounts of the caller's subject. */
  ofCaller(principal: Principal): Promise<Budget[]>;
  /** @throws ApiError invalid_request with `param`, not_found for an unknown organisation */
  create(orgId: string, input: NewBudget): Promise<Budget>;
  /** The new limit also applies to the current period. The event of a threshold is sent at most once in a period. @throws ApiError not_found */
  update(orgId: string, id: string, change: BudgetChange): Promise<Budget>;
  /** Answers the budget as it was. @param orgId default: any (the operator's) @throws ApiError not_found */
  delete(id: string, orgId?: string): Promise<Budget>;
  /** Subjects with a spent or reserved amount in the current period, sorted by name. @throws ApiError not_found */
  subjects(orgId: string, id: string, page: PageQuery): Promise<Page<BudgetSubject> & { cursors: string[] }>;
}
