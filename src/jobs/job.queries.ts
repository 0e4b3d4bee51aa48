import type { Database } from '../database/database.types.js';
import { invalid, notFound } from '../contract/errors.js';
import { isJobId, JOB_COLUMNS, toJob, toJobEvent } from './job.row.js';
import type { JobEventRow, JobRow } from './job.row.js';
import type { Job, JobEvent, JobPage, JobService } from './jobs.types.js';

const GET = `SELECT ${JOB_COLUMNS} FROM jobs WHERE id = $1`;
const GET_MANY = `SELECT ${JOB_COLUMNS} FROM jobs WHERE id = ANY ($1)`;

const EVENTS = `SELECT ${JOB_COLUMNS.replace(/\w+/g, 'j.$&')}, e.sequence AS e_sequence, e.type AS e_type, e.status AS e_status,
    e.progress AS e_progress, e.attempt AS e_attempt, e.fence AS e_fence, e.started_at AS e_started_at
  FROM job_events e JOIN jobs j ON j.id = e.job_id
  WHERE e.job_id = $1 AND e.sequence > $2 ORDER BY e.sequence LIMIT $3`;

/** How a tenant reads its jobs; row level security limits the rows. */
export type JobReader = Pick<JobService, 'get' | 'getMany' | 'list' | 'events'>;

type ListQuery = Parameters<JobService['list']>[1];

/** Builds one statement for each combination of conditions, so that each has its own query plan and none scans jobs of other tools. */
function listText(query: ListQuery): string {
  const conditions = ['org_id = $1'];
  if (query.tool !== undefined) conditions.push('tool = $3');
  if (query.after !== undefined) conditions.push(`id < $${query.tool === undefined ? 3 : 4}`);
  if (query.pending) conditions.push(`status IN ('pending', 'processing')`);
  return `SELECT ${JOB_COLUMNS} FROM jobs WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT $2`;
}

async function list(database: Database, orgId: string, query: ListQuery): Promise<JobPage> {
  const { tool, first, after } = query;
  if (after !== undefined && !isJobId(after)) throw invalid('Invalid cursor', 'cursor');
  const values = [
    orgId,
    first + 1,
    ...(tool === undefined ? [] : [tool]),
    ...(after === undefined ? [] : [after]),
  ];
  const rows = await database.tenantQuery<JobRow>(orgId, listText(query), values);
  const nodes = rows.slice(0, first).map(toJob);
  return { nodes, nextCursor: rows.length > first ? (nodes.at(-1)?.id ?? null) : null };
}

/** Reads of jobs, one statement each. A text without the form of a job id is unknown, without a query. */
export function createJobReader(database: Database): JobReader {
  return {
    async get(orgId, id): Promise<Job> {
      const [row] = isJobId(id) ? await database.tenantQuery<JobRow>(orgId, GET, [id]) : [];
      if (!row) throw notFound('Job not found');
      return toJob(row);
    },
    async getMany(orgId, ids) {
      const known = ids.filter(isJobId);
      if (known.length === 0) return [];
      return (await database.tenantQuery<JobRow>(orgId, GET_MANY, [known])).map(toJob);
    },
    list: (orgId, query) => list(database, orgId, query),
    async events(orgId, id, ...range): Promise<JobEvent[]> {
      if (!isJobId(id)) return [];
      return (await database.tenantQuery<JobEventRow>(orgId, EVENTS, [id, ...range])).map(toJobEvent);
    },
  };
}

const POSITIONS = {
  name: 'jobs_positions',
  text: 'SELECT id, org_id AS "orgId", created_at AS "createdAt", sequence, status FROM jobs WHERE id = ANY ($1)',
};

const MOVING = {
  name: 'jobs_moving',
  text: `SELECT id, org_id AS "orgId", created_at AS "createdAt", sequence, status FROM jobs
    WHERE org_id = ANY ($1) AND status IN ('pending', 'processing')
    UNION ALL SELECT id, org_id, created_at, sequence, status FROM jobs
    WHERE org_id = ANY ($1) AND completed_at > clock_timestamp() - interval '10 seconds'`,
};

/** The position of a job in its history, for any organisation. */
export type JobPosition = Pick<Job, 'id' | 'orgId' | 'createdAt' | 'sequence' | 'status'>;

/** Positions of many jobs in one read (waiters, subscription hub); unknown ids are left out. */
export function createJobLookup(
  database: Pick<Database, 'system'>,
): (jobIds: string[]) => Promise<JobPosition[]> {
  return (jobIds) => database.system.query<JobPosition>(POSITIONS, [jobIds]);
}

/** Reads the positions of all jobs of some organisations that are unfinished, or finished within the last 10 seconds. */
export function createMovingJobs(
  database: Pick<Database, 'system'>,
): (orgIds: string[]) => Promise<JobPosition[]> {
  return (orgIds) => database.system.query<JobPosition>(MOVING, [orgIds]);
}

const NOW = { name: 'jobs_now', text: 'SELECT clock_timestamp() AS now' };

/** Reads the database's clock, by which jobs are created. */
export function createJobClock(database: Pick<Database, 'system'>): () => Promise<Date> {
  return async () => {
    const [row] = await database.system.query<{ now: Date }>(NOW);
    if (row === undefined) throw new Error('PostgreSQL tells no time');
    return row.now;
  };
}
