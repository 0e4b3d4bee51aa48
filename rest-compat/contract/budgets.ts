import type { Route } from '../shared/route.types.js';

const BUDGET = `
  id name scope subject unit limit period counts_from: countsFrom resets_at: resetsAt spent reserved remaining hard thresholds`;

export const budgetRoutes: Route[] = [
  {
    method: 'GET',
    path: '/budgets',
    operationId: 'listBudgets',
    tag: 'Quota',
    summary: 'List budgets with their spent amounts',
    document: `query { body: budgets(first: null) { budgets: nodes { ${BUDGET} } } }`,
    schemaName: 'BudgetList',
  },
  {
    method: 'GET',
    path: '/key',
    operationId: 'getKey',
    tag: 'Quota',
    summary: "Read the key that makes the request, with its budgets and this month's spend in USD",
    document: `query { body: caller { id name scopes budgets { ${BUDGET} } spend } }`,
    schemaName: 'CallingKey',
  },
];
