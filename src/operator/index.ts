export { createOperatorService } from './operator.service.js';
export { createProviderHealth } from './provider-health.js';
export type * from './operator.types.js';
