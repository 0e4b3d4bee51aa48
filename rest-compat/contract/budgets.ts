import type { Route } from '../shared/route.types.js';
import { wrapped } from './wrapped.js';

export const budgetRoutes: Route[] = [
  {
    method: 'GET',
    path: '/budgets',
    operationId: 'listBudgets',
    tag: 'Quota',
    summary: 'List budgets, with what was spent of them',
    document: `query {
      body: budgets {
        id name scope subject unit limit period counts_from: countsFrom resets_at: resetsAt spent reserved remaining hard thresholds
      }
    }`,
    ...wrapped('budgets'),
    schemaName: 'BudgetList',
  },
];
