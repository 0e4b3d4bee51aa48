export { createAddressPolicy } from './addresses.js';
export type { AddressPolicy } from './addresses.js';
export { createEgress } from './egress.js';
export type { EgressOptions } from './egress.js';
export { EgressError } from './egress.types.js';
export type { Egress, EgressFault, OutboundAnswer, OutboundRequest, OutboundStream } from './egress.types.js';
export { createOperatorAgent } from './guarded-agent.js';
export type { NameResolver } from './guarded-agent.js';
export { parseOutboundUrl } from './url-form.js';
