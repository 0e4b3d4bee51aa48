import type { DedicatedSql } from '../../database/database.types.js';
import type { Tool } from '../../contract/words.js';
import { JOB_COLUMNS, toJob } from '../job.row.js';
import type { JobRow } from '../job.row.js';
import type { Job } from '../jobs.types.js';

const CLAIMED = `SELECT ${JOB_COLUMNS}, orders,
    extract(epoch FROM deadline - clock_timestamp())::double precision * 1000 AS remaining_ms`;
const TAKE = {
  name: 'jobs_take',
  text: `${CLAIMED} FROM penstock_jobs_take($1, $2, $3, $4, $5::bigint[], $6, $7)`,
};
const TAKEN = 'SELECT penstock_jobs_taken()';

/** How many jobs of one tool a worker can claim. */
export interface ClaimSlot {
  tool: Tool;
  free: number;
  /** Further places, for organisations without a running job. */
  forNewcomers: number;
  timeLimitMs: number;
}

export interface ClaimedJob {
  job: Job;
  /** Time until the job's deadline, by the database's clock; may be negative. */
  remainingMs: number;
  /** Engine → reference, from earlier attempts. */
  orders: Record<string, string>;
}

export interface Claiming {
  workerId: string;
  slots: ClaimSlot[];
  /** Jobs of this worker that hold no permit; they do not count as running. */
  resting: string[];
  leaseMs: number;
}

type ClaimedRow = JobRow & { remaining_ms: number; orders: Record<string, string> | null };

function valuesOf({ workerId, slots, resting, leaseMs }: Claiming) {
  return [
    workerId,
    slots.map(({ tool }) => tool),
    slots.map(({ free }) => free),
    slots.map(({ forNewcomers }) => forNewcomers),
    slots.map(({ timeLimitMs }) => timeLimitMs),
    leaseMs,
    resting,
  ];
}

function toClaimed(row: ClaimedRow): ClaimedJob {
  return { job: toJob(row), remainingMs: row.remaining_ms, orders: row.orders ?? {} };
}

/** A claim whose jobs are returned before it is committed. */
export interface EarlyClaim {
  jobs: Promise<ClaimedJob[]>;
  /** Whether the claim was committed. False also if that is unknown; then nothing may be written for these attempts. Never rejects. */
  held: Promise<boolean>;
}

/**
 * pending → processing, round-robin over organisations within each tool, with a lease and a new fence. Returns the jobs while their rows are
 * locked and before the commit is on the disk, so that work can begin in the meantime. Results are written only if the claim is `held`.
 */
export function takeJobs(sql: DedicatedSql, claiming: Claiming): EarlyClaim {
  const { rows, committed } = sql.queryWithEarlyRows<ClaimedRow>(TAKE, valuesOf(claiming), TAKEN);
  return {
    jobs: rows.then((all) => all.map(toClaimed)),
    held: committed.then(
      () => true,
      () => false,
    ),
  };
}
