export { actFor, actingFor, atRest } from './acting-for.js';
export { answerTasks } from './answer-tasks.js';
export { processEntry } from './entry.js';
export { FairPlaces } from './fair-places.js';
export type { FairPlacesOptions, Place } from './fair-places.js';
export { ProcessPool } from './process-pool.js';
export type { ProcessPoolOptions, TaskOptions } from './process-pool.js';
export { ProcessDiedError, TaskError } from './process.types.js';
