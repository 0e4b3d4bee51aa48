export { bindToKey, toKeyLostError, takeBoundId } from './key-binding.js';
export { createIdempotency, type IdempotencyDependencies } from './idempotency.service.js';
export type * from './idempotency.types.js';
