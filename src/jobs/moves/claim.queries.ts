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

/** What a worker can take of one tool. */
export interface ClaimSlot {
  tool: Tool;
  free: number;
  /** Places beyond, for organisations of whose jobs none is being worked on. */
  forNewcomers: number;
  timeLimitMs: number;
}

export interface ClaimedJob {
  job: Job;
  /** Until the job's deadline, by the database's clock; may be negative. */
  remainingMs: number;
  /** Engine → reference, from earlier attempts. */
  orders: Record<string, string>;
}

export interface Claiming {
  workerId: string;
  slots: ClaimSlot[];
  /** Jobs in the worker's hands that hold no place: they do not count as being worked on. */
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

/** A claim whose jobs are known before it is committed. */
export interface EarlyClaim {
  jobs: Promise<ClaimedJob[]>;
  /** False where it came to nothing, or nobody knows: then nothing may be written for these attempts. Never rejects. */
  held: Promise<boolean>;
}

/**
 * pending → processing, round-robin over organisations within each tool, with a lease and a new fence. The jobs are told while their rows
 * are locked and before their move is on the disk, so that work can begin meanwhile. What it leads to is written only where the claim is `held`.
 */
export function takeJobs(sql: DedicatedSql, claiming: Claiming): EarlyClaim {
  const { rows, committed } = sql.early<ClaimedRow>(TAKE, valuesOf(claiming), TAKEN);
  return {
    jobs: rows.then((all) => all.map(toClaimed)),
    held: committed.then(
      () => true,
      () => false,
    ),
  };
}
