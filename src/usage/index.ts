export { createFolding } from './folding.js';
export type { Folding } from './folding.js';
export { createUsagePublishing } from './publishing.js';
export type { UsagePublishing } from './publishing.js';
export { createUsage } from './usage.js';
export { createUsageStreamSource } from './stream-source.js';
export { OPERATION_STATUSES, USAGE_DIMENSIONS, USAGE_INTERVALS, USAGE_UPDATE_TYPES } from './usage.types.js';
export type * from './usage.types.js';
