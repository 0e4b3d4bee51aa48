export { bindToKey, orKeyLost, takeBound } from './key-binding.js';
export { createIdempotency, type IdempotencyDependencies } from './idempotency.service.js';
export type * from './idempotency.types.js';
