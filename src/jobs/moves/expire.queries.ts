import type { Sql } from '../../database/database.types.js';

const FIND = {
  name: 'jobs_expired',
  text: `SELECT id, org_id AS "orgId" FROM jobs WHERE completed_at < now() - $1 * interval '1 day'
    ORDER BY completed_at LIMIT $2`,
};
const FILES = {
  name: 'jobs_expired_files',
  text: `SELECT org_id AS "orgId", array_agg(id) AS ids FROM files WHERE job_id = ANY ($1) GROUP BY org_id`,
};
const FORGET = {
  name: 'jobs_forget',
  text: 'WITH gone AS (DELETE FROM jobs WHERE id = ANY ($1) AND completed_at IS NOT NULL RETURNING 1) SELECT count(*)::int AS n FROM gone',
};

/** Finished jobs older than the given number of days, oldest first. */
export async function findExpired(
  sql: Sql,
  days: number,
  limit: number,
): Promise<{ id: string; orgId: string }[]> {
  return sql.query(FIND, [days, limit]);
}

/** The files that belong to the jobs, by organisation. */
export async function filesOf(sql: Sql, jobIds: string[]): Promise<{ orgId: string; ids: string[] }[]> {
  return sql.query(FILES, [jobIds]);
}

/** Removes the jobs with their events. Returns their number. */
export async function forgetJobs(sql: Sql, jobIds: string[]): Promise<number> {
  const [row] = await sql.query<{ n: number }>(FORGET, [jobIds]);
  return row?.n ?? 0;
}
