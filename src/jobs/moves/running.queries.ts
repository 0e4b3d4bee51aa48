import type { Sql } from '../../database/database.types.js';
import type { Job } from '../jobs.types.js';

/** Identifies one attempt. It may write while the row has this fence and this worker. */
export type Attempt = Pick<Job, 'id' | 'fence'>;

const PROGRESS = { name: 'jobs_progress', text: 'SELECT penstock_jobs_progress($1, $2, $3, $4)' };

/** Writes progress (whole percents), never downwards. Attempts that have lost their job change nothing. */
export async function writeProgress(
  sql: Sql,
  workerId: string,
  reports: (Attempt & { percent: number })[],
): Promise<void> {
  const ids = reports.map(({ id }) => id);
  const fences = reports.map(({ fence }) => fence);
  const percents = reports.map(({ percent }) => percent);
  await sql.query(PROGRESS, [workerId, ids, fences, percents]);
}
