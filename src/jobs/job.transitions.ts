import type { JobStatus } from '../contract/words.js';

/**
 * The allowed moves (contract 3.1, decisions 6). The functions of migration 0004 enforce them, one for each row:
 * create, claim, progress, complete, fail, cancel, requeue (lease lost or given back).
 */
export const JOB_TRANSITIONS: Readonly<Record<JobStatus | 'none', readonly JobStatus[]>> = {
  none: ['pending'],
  pending: ['processing', 'cancelled'],
  processing: ['processing', 'completed', 'failed', 'cancelled', 'pending'],
  completed: [],
  failed: [],
  cancelled: [],
};

/** True for a status that a job never leaves. */
export function isFinished(status: JobStatus): boolean {
  return JOB_TRANSITIONS[status].length === 0;
}
