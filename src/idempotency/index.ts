export { bindToKey, orKeyLost, takeBound } from './bound.js';
export { createIdempotency, type IdempotencyDependencies } from './idempotency.service.js';
export type * from './idempotency.types.js';
