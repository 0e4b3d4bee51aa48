export { createFolding } from './folding.js';
export type { Folding } from './folding.js';
export { createUsage } from './usage.js';
export { OPERATION_STATUSES, USAGE_DIMENSIONS, USAGE_INTERVALS } from './usage.types.js';
export type * from './usage.types.js';
export { createUsagePublishing } from './publishing.js';
export { createUsageStreamSource } from './stream-source.js';
export { USAGE_UPDATE_TYPES } from './stream.types.js';
export type * from './stream.types.js';
