import type { Sql } from '../../database/database.types.js';
import type { Job } from '../jobs.types.js';

/** Identifies one attempt. It may write while the row has this fence and this worker. */
export type Attempt = Pick<Job, 'id' | 'fence'>;

const RENEW = { name: 'jobs_renew', text: 'SELECT penstock_jobs_renew($1, $2, $3, $4) AS id' };
const PROGRESS = { name: 'jobs_progress', text: 'SELECT penstock_jobs_progress($1, $2, $3, $4)' };

/** Renews leases. Returns the ids that this worker still holds; every other attempt has lost its job. */
export async function renewLeases(
  sql: Sql,
  options: { workerId: string; attempts: Attempt[]; leaseMs: number },
): Promise<Set<string>> {
  const { workerId, attempts, leaseMs } = options;
  const ids = attempts.map(({ id }) => id);
  const fences = attempts.map(({ fence }) => fence);
  const rows = await sql.query<{ id: string }>(RENEW, [workerId, ids, fences, leaseMs]);
  return new Set(rows.map(({ id }) => id));
}

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
