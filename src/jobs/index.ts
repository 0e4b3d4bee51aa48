export type {
  Job,
  JobContext,
  JobEvent,
  JobEvents,
  JobHandler,
  JobOutcome,
  JobPage,
  JobService,
  NewJob,
} from './jobs.types.js';
export { createJobEventReader, createJobLookup } from './job.queries.js';
export type { Batcher } from './batcher.js';
export { createBatcher, wasRolledBack } from './batcher.js';
export type { JobPosition } from './job.queries.js';
export { createJobRetention } from './job.retention.js';
export type { RetentionOptions } from './job.retention.js';
export { createRetention } from './retention.js';
export type { Retention } from './retention.js';
export { createJobService } from './job.service.js';
export { isFinished, JOB_TRANSITIONS } from './job.transitions.js';
export { createJobWorker } from './job.worker.js';
export type { JobWorker, JobWorkerOptions } from './job.worker.js';
export { releaseLeases, renewLeases } from './moves/leases.queries.js';
export { createLeaseWorker, isDatabaseAway } from './lease.worker.js';
export type { Claiming, Hold, LeasedWork, LeaseMoves, LeaseTimes, LeaseWorker } from './lease.worker.js';
