import type { Sql } from '../../database/database.types.js';
import type { Attempt } from './running.js';

const GIVE_BACK = { name: 'jobs_give_back', text: 'SELECT penstock_jobs_give_back($1, $2, $3) AS id' };
const SWEEP = {
  name: 'jobs_sweep',
  text: 'SELECT penstock_jobs_sweep($1) AS moved',
  repeatable: true,
} as const;

/** Attempts that a job has before it fails with `Job processing error`. */
export const MAX_ATTEMPTS = 3;

/** processing → pending without counting the attempt (a worker that stops). Answers the ids that moved. */
export async function giveBack(sql: Sql, workerId: string, attempts: Attempt[]): Promise<string[]> {
  if (attempts.length === 0) return [];
  const ids = attempts.map(({ id }) => id);
  const rows = await sql.query<{ id: string }>(GIVE_BACK, [
    workerId,
    ids,
    attempts.map(({ fence }) => fence),
  ]);
  return rows.map(({ id }) => id);
}

/** processing → pending (lease lost), or failed (third attempt, or time over). Answers how many jobs moved, at most 200. */
export async function sweepJobs(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ moved: number }>(SWEEP, [MAX_ATTEMPTS]);
  return row?.moved ?? 0;
}
