import type { Sql } from '../../database/database.types.js';
import type { Job } from '../jobs.types.js';

/** The right to write for one attempt: it holds while the row's fence and worker are these. */
export type Attempt = Pick<Job, 'id' | 'fence'>;

const RENEW = { name: 'jobs_renew', text: 'SELECT penstock_jobs_renew($1, $2, $3, $4) AS id' };
const PROGRESS = { name: 'jobs_progress', text: 'SELECT penstock_jobs_progress($1, $2, $3, $4)' };

/** Prolongs leases. Answers the ids that are still the worker's; every other attempt is lost. */
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

/** Writes progress (whole percents), never down; attempts that are not the worker's any more change nothing. */
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
