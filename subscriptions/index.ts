export { ChatSubscriptionResolver } from './chat.resolver.js';
export { createJobHub, type JobHub, type JobHubDependencies } from './job-hub.js';
export { JobSubscriptionResolver } from './job.resolver.js';
export type { OperationEngine, OperationRequest } from './server/operation.types.js';
export { SharedResults } from './server/shared-results.js';
export { createGraphqlSseHandler, type GraphqlSseHandler } from './server/sse.js';
export { createGraphqlWsServer, type GraphqlWsServer } from './server/ws-server.js';
export { StalledSubscriberError } from './stalled.js';
