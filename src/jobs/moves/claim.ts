import type { Sql } from '../../database/database.types.js';
import type { Tool } from '../../vocabulary.js';
import { JOB_COLUMNS, toJob } from '../job.row.js';
import type { JobRow } from '../job.row.js';
import type { Job } from '../jobs.types.js';

const CLAIM = {
  name: 'jobs_claim',
  text: `SELECT ${JOB_COLUMNS}, orders, extract(epoch FROM deadline - clock_timestamp())::double precision * 1000 AS remaining_ms
    FROM penstock_jobs_claim($1, $2, $3, $4::bigint[], $5)`,
};

/** What a worker can take of one tool. */
export interface ClaimSlot {
  tool: Tool;
  free: number;
  timeLimitMs: number;
}

export interface ClaimedJob {
  job: Job;
  /** Until the job's deadline, by the database's clock; may be negative. */
  remainingMs: number;
  /** Engine → reference, from earlier attempts. */
  orders: Record<string, string>;
}

/** pending → processing, round-robin over organisations within each tool, with a lease and a new fence. */
export async function claimJobs(
  sql: Sql,
  options: { workerId: string; slots: ClaimSlot[]; leaseMs: number },
): Promise<ClaimedJob[]> {
  const { workerId, slots, leaseMs } = options;
  const rows = await sql.query<JobRow & { remaining_ms: number; orders: Record<string, string> | null }>(
    CLAIM,
    [
      workerId,
      slots.map(({ tool }) => tool),
      slots.map(({ free }) => free),
      slots.map(({ timeLimitMs }) => timeLimitMs),
      leaseMs,
    ],
  );
  return rows.map((row) => ({ job: toJob(row), remainingMs: row.remaining_ms, orders: row.orders ?? {} }));
}
