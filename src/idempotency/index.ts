export { parseIdempotencyKey } from './idempotency.key.js';
export { createIdempotency, type IdempotencyDependencies } from './idempotency.service.js';
export type * from './idempotency.types.js';
