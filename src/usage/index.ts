export { createFolding } from './folding.js';
export type { Folding } from './folding.js';
export type { Difference, Reconciliation } from './reconcile.js';
export { createUsage } from './usage.js';
export { OPERATION_STATUSES, USAGE_DIMENSIONS, USAGE_INTERVALS } from './usage.types.js';
export type * from './usage.types.js';
