export { runForOrg, currentOrgId, withoutPermit } from './org-context.js';
export { answerTasks } from './answer-tasks.js';
export { processEntry } from './entry.js';
export { FairSemaphore } from './fair-semaphore.js';
export type { FairSemaphoreOptions, Permit } from './fair-semaphore.js';
export { ProcessPool } from './process-pool.js';
export type { ProcessPoolOptions, TaskOptions } from './process-pool.js';
export { ProcessDiedError, TaskError } from './process.types.js';
export { lowerPriority, lowerThreadPriority } from './process-priority.js';
