export { answerTasks } from './answer-tasks.js';
export { processEntry } from './entry.js';
export { ProcessPool } from './process-pool.js';
export type { ProcessPoolOptions, TaskOptions } from './process-pool.js';
export { ProcessDiedError, TaskError } from './process.types.js';
