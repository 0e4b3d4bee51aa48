import type { Database, Sql } from '../../database/database.types.js';
import type { Job } from '../jobs.types.js';
import type { Attempt } from './running.queries.js';

const GIVE = { name: 'jobs_give', text: 'SELECT penstock_job_give($1, $2, $3, $4, $5::text[])' };
const FORGET = { name: 'jobs_parts_forget', text: 'SELECT penstock_job_parts_forget()' };
const READ = `SELECT p.fence, p.number, p.bytes FROM job_parts p
  WHERE p.job_id = $1 AND (p.fence, p.number) > ($2::int, $3::int) ORDER BY p.fence, p.number LIMIT $4`;

/** A part of an attempt's result. */
export interface JobPart {
  fence: number;
  number: number;
  bytes: Buffer;
}

/** Stores parts that follow number `after`. Nothing is stored for an attempt that has lost its job. */
export async function appendParts(sql: Sql, { workerId, attempt, after, parts }: GivenParts): Promise<void> {
  const texts = parts.map((part) => part.toString('base64'));
  await sql.query(GIVE, [workerId, attempt.id, attempt.fence, after, texts]);
}

interface GivenParts {
  workerId: string;
  attempt: Attempt;
  after: number;
  parts: readonly Buffer[];
}

/** The next parts of a job, of all its attempts. */
export async function readParts(
  database: Pick<Database, 'tenantQuery'>,
  { orgId, id }: Pick<Job, 'orgId' | 'id'>,
  { fence, number, limit }: { fence: number; number: number; limit: number },
): Promise<JobPart[]> {
  return await database.tenantQuery<JobPart>(orgId, READ, [id, fence, number, limit]);
}

/** Deletes parts that nobody reads any more. */
export async function forgetParts(sql: Sql): Promise<void> {
  await sql.query(FORGET);
}
