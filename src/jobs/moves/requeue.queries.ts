import type { Sql } from '../../database/database.types.js';
import type { Attempt } from './running.queries.js';

const GIVE_BACK = { name: 'jobs_give_back', text: 'SELECT penstock_jobs_give_back($1, $2, $3) AS id' };
const SWEEP = {
  name: 'jobs_sweep',
  text: `SELECT penstock_jobs_sweep($1) AS moved,
      EXISTS (SELECT 1 FROM jobs WHERE status = 'pending') AS pending,
      EXISTS (SELECT 1 FROM jobs WHERE orders IS NOT NULL AND status IN ('cancelled', 'failed')) AS orders`,
  repeatable: true,
} as const;

/** The maximum of attempts; then a job fails with `Job processing error`. */
export const MAX_ATTEMPTS = 3;

/** processing → pending without counting the attempt (a worker that stops). Returns the ids that moved. */
export async function requeueJobs(sql: Sql, workerId: string, attempts: Attempt[]): Promise<string[]> {
  if (attempts.length === 0) return [];
  const ids = attempts.map(({ id }) => id);
  const rows = await sql.query<{ id: string }>(GIVE_BACK, [
    workerId,
    ids,
    attempts.map(({ fence }) => fence),
  ]);
  return rows.map(({ id }) => id);
}

/** The result of a sweep. */
export interface SweepResult {
  moved: number;
  /** Jobs wait to be claimed. */
  pending: boolean;
  /** Upstream orders may have to be cancelled. */
  orders: boolean;
}

/**
 * processing → pending (lease lost), or failed (third attempt, or time over), at most 200 jobs. Also reports the remaining work, so that an idle
 * worker sends no further query.
 */
export async function sweepJobs(sql: Sql): Promise<SweepResult> {
  const [row] = await sql.query<SweepResult>(SWEEP, [MAX_ATTEMPTS]);
  if (row === undefined) return { moved: 0, pending: true, orders: true };
  return { ...row, pending: row.pending || row.moved > 0 };
}
