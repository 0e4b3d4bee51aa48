import type { Database, SqlValue } from '../database/database.types.js';
import { badCursor, toPage } from '../collections/page.js';
import { createOrganizationEventReader } from '../events/index.js';
import type { OrganizationEventReader } from '../events/index.js';
import { invalid, notFound } from '../contract/errors.js';
import { isJobId, JOB_COLUMNS, toJob, toJobEvent } from './job.row.js';
import type { JobEventRow, JobRow } from './job.row.js';
import type { Job, JobEvent, JobFilter, JobPage, JobQuery, JobService } from './jobs.types.js';
import { isLonger } from '../text/characters.js';
import { storedText } from '../text/stored-json.js';

const GET = `SELECT ${JOB_COLUMNS} FROM jobs WHERE id = $1`;
const GET_MANY = `SELECT ${JOB_COLUMNS} FROM jobs WHERE id = ANY ($1)`;

/** An event `e` and its job `x`. */
const EVENT_COLUMNS = `${JOB_COLUMNS.replace(/\w+/g, 'x.$&')}, e.sequence AS e_sequence, e.type AS e_type, e.status AS e_status,
    e.progress AS e_progress, e.attempt AS e_attempt, e.fence AS e_fence, e.started_at AS e_started_at`;

const EVENTS = `SELECT ${EVENT_COLUMNS} FROM job_events e JOIN jobs x ON x.id = e.job_id
  WHERE e.job_id = $1 AND e.sequence > $2 ORDER BY e.sequence LIMIT $3`;

/** How a tenant reads its jobs; row level security limits the rows. */
export type JobReader = Pick<JobService, 'get' | 'getMany' | 'list' | 'count' | 'events'>;

const MAX_VALUES = 100;
const MAX_PROMPT = 200;

/** @throws ApiError invalid_request */
function checkFilter({ prompt, ...others }: JobFilter): void {
  for (const [name, value] of Object.entries(others)) {
    if (Array.isArray(value) && value.length > MAX_VALUES)
      throw invalid(`${name} must name at most ${MAX_VALUES}`, name);
    const year = value instanceof Date ? value.getUTCFullYear() : 2000;
    if (Number.isNaN(year) || year < 1970 || year > 9999)
      throw invalid(`${name} must be in the years 1970 to 9999`, name);
  }
  if (prompt != null && isLonger(prompt, MAX_PROMPT))
    throw invalid(`prompt must have at most ${MAX_PROMPT} characters`, 'prompt');
}

/** Checks the values of a list's conditions: PostgreSQL refuses some texts. */
const comparable = (values: readonly string[]): string[] => values.map(storedText);

/** Contains only the requested conditions, so that each combination has its own query plan and none scans jobs of other tools. */
function conditionsOf(
  { tool, pending, filter = {} }: Pick<JobQuery, 'tool' | 'pending' | 'filter'>,
  add: (value: SqlValue) => string,
): string[] {
  checkFilter(filter);
  const { tools, statuses, models, keyIds, endUsers, prompt, since, until } = filter;
  const among = (column: string, values: readonly string[] | null | undefined): string[] =>
    values == null ? [] : [`${column} = ANY (${add(comparable(values))})`];
  return [
    ...(tool === undefined ? [] : [`tool = ${add(tool)}`]),
    ...(pending ? [`status IN ('pending', 'processing')`] : []),
    ...among('tool', tools),
    ...among('status', statuses),
    ...among('model', models),
    ...among('key_id', keyIds),
    ...(endUsers == null
      ? []
      : [
          `EXISTS (SELECT FROM usage_ledger u WHERE u.operation_id = jobs.operation_id
            AND u.end_user = ANY (${add(comparable(endUsers))}))`,
        ]),
    ...(prompt == null || prompt === ''
      ? []
      : [
          `position(lower(${add(storedText(prompt))}) IN lower(coalesce(input_params->>'prompt', input_params->>'input', ''))) > 0`,
        ]),
    ...(since == null ? [] : [`created_at >= ${add(since)}`]),
    ...(until == null ? [] : [`created_at < ${add(until)}`]),
  ];
}

async function list(database: Database, orgId: string, query: JobQuery): Promise<JobPage> {
  const { first, after, before, backwards = false, oldestFirst = false } = query;
  const bad = badCursor(query, isJobId);
  if (bad !== undefined) throw invalid('Invalid cursor', bad);
  const values: SqlValue[] = [orgId, first + 1];
  const add = (value: SqlValue): string => `$${values.push(value)}`;
  const [later, earlier] = oldestFirst ? ['>', '<'] : ['<', '>'];
  const conditions = [
    'org_id = $1',
    ...conditionsOf(query, add),
    ...(after === undefined ? [] : [`id ${later} ${add(after)}`]),
    ...(before === undefined ? [] : [`id ${earlier} ${add(before)}`]),
  ];
  const order = oldestFirst === backwards ? 'DESC' : 'ASC';
  const text = `SELECT ${JOB_COLUMNS} FROM jobs WHERE ${conditions.join(' AND ')} ORDER BY id ${order} LIMIT $2`;
  const rows = await database.tenantQuery<JobRow>(orgId, text, values);
  return toPage(rows.map(toJob), query, ({ id }) => id);
}

async function count(
  database: Database,
  orgId: string,
  query: Pick<JobQuery, 'tool' | 'pending' | 'filter'>,
): Promise<number> {
  const values: SqlValue[] = [orgId];
  const conditions = ['org_id = $1', ...conditionsOf(query, (value) => `$${values.push(value)}`)];
  const text = `SELECT count(*)::float8 AS jobs FROM jobs WHERE ${conditions.join(' AND ')}`;
  const [row] = await database.tenantQuery<{ jobs: number }>(orgId, text, values);
  return row?.jobs ?? 0;
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
    count: (orgId, query) => count(database, orgId, query),
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

/** The position of a job in its history, for any organisation. */
export type JobPosition = Pick<Job, 'id' | 'orgId' | 'createdAt' | 'sequence' | 'status'>;

/** Positions of many jobs in one read (waiters, subscription hub); unknown ids are left out. */
export function createJobLookup(
  database: Pick<Database, 'system'>,
): (jobIds: string[]) => Promise<JobPosition[]> {
  return (jobIds) => database.system.query<JobPosition>(POSITIONS, [jobIds]);
}

/** Reads the events of all jobs of whole organisations. */
export function createJobEventReader(database: Pick<Database, 'system'>): OrganizationEventReader<JobEvent> {
  return createOrganizationEventReader<JobEventRow, JobEvent>(database, {
    ...{ table: 'job_events', id: 'job_id', entities: 'jobs' },
    columns: EVENT_COLUMNS,
    toEvent: toJobEvent,
  });
}
