export { allowanceOf } from './allowance.js';
export { balancesOf, settlementOf, toAmounts, tokenAmounts, toVector } from './amounts.js';
export type { RawBalance, RawSettlement } from './amounts.js';
export type { CallContext } from './call-context.js';
export { createMetering } from './metering.js';
export type { MeteringOptions } from './metering.js';
export type * from './metering.types.js';
export { createRatePeek } from './rate-peek.js';
export { rateOf, tighter } from './rates.js';
