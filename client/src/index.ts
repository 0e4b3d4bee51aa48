export { createPenstock } from './client.js';
export type { Calls, Penstock, Subscribes } from './client.js';
export type { CredentialOptions, TimedToken, TokenProvider } from './credentials.js';
export { PenstockError } from './fault.js';
export type { FaultDetails } from './fault.js';
export type {
  AgentRun,
  AgentRunEvent,
  ChatChunk,
  Job,
  JobList,
  JobsFilter,
  Listener,
  Live,
  Quota,
} from './live.js';
export type * from './operations.generated.js';
export { mutations, queries, subscriptions } from './operations.generated.js';
export type { Operation } from './operation.js';
export { randomKey } from './random.js';
export type { Following, RequestOptions, TransportOptions } from './transport.js';
export type { Upload, UploadedFile, UploadOptions } from './upload.js';
