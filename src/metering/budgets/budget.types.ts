import type { Principal } from '../../access/access.types.js';
import type { BudgetAmount, BudgetPeriod, BudgetScope, BudgetUnit } from '../../contract/budgets.js';

/** What a budget, or one of its subjects, has spent in the current period. */
export interface BudgetFigures {
  spent: BudgetAmount;
  /** What open calls may still spend. */
  reserved: BudgetAmount;
}

/** A budget as callers see it (beyond 13.3); times are ISO 8601. */
export interface Budget extends BudgetFigures {
  id: string;
  name: string;
  scope: BudgetScope;
  /** Null: the organisation. `*`: each by itself. */
  subject: string | null;
  unit: BudgetUnit;
  limit: BudgetAmount;
  period: BudgetPeriod;
  /** From when on calls count: the period's beginning, or the budget's. */
  countsFrom: string;
  /** Null of a total. */
  resetsAt: string | null;
  /** Null of `*`: each of its subjects has its own. */
  remaining: BudgetAmount | null;
  hard: boolean;
  /** Parts of the limit: 0.5. */
  thresholds: number[];
}

/** What one subject of a budget has spent. */
export interface BudgetSubject extends BudgetFigures {
  /** A key's id, an end user or a tag; null: the organisation. */
  subject: string | null;
  remaining: BudgetAmount;
}

export interface NewBudget {
  name: string;
  scope: string;
  /** None of the organisation's. */
  subject?: string | null | undefined;
  unit: string;
  limit: BudgetAmount;
  period: string;
  /** Default: true. */
  hard?: boolean | null | undefined;
  /** Default: 0.5, 0.8 and 1. */
  thresholds?: readonly number[] | null | undefined;
}

/** What is to be changed; what is absent stays. */
export type BudgetChange = Partial<Pick<NewBudget, 'name' | 'limit' | 'hard' | 'thresholds'>>;

/** Budgets of organisations. Every change holds for the next call on every process. */
export interface BudgetService {
  /** In the order in which they are checked: that of their ids. */
  list(orgId: string): Promise<Budget[]>;
  /** Those that concern all calls of a caller, each with what it has spent of it: a budget of `*` by the caller's subject. */
  ofCaller(principal: Principal): Promise<Budget[]>;
  /** @throws ApiError invalid_request with `param`, not_found for an unknown organisation */
  create(orgId: string, input: NewBudget): Promise<Budget>;
  /** The new limit holds for the current period too; a threshold whose event was told is told once in a period. @throws ApiError not_found */
  update(orgId: string, id: string, change: BudgetChange): Promise<Budget>;
  /** @param orgId default: any (the operator's) @throws ApiError not_found */
  delete(id: string, orgId?: string): Promise<void>;
  /** Those that have spent or reserved something in the current period, by name. @throws ApiError not_found */
  subjects(
    orgId: string,
    id: string,
    page: { first: number; after?: string },
  ): Promise<{ nodes: BudgetSubject[]; cursors: string[]; nextCursor: string | null }>;
}
