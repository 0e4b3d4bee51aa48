import type { Sql } from '../../database/database.types.js';
import type { ErrorCode } from '../../contract/errors.js';
import { recordJson } from '../../metering/index.js';
import type { OperationOutcome } from '../../metering/index.js';
import { JOB_COLUMNS, toJob } from '../job.row.js';
import type { JobRow } from '../job.row.js';
import type { Job } from '../jobs.types.js';
import type { Attempt } from './running.queries.js';

const FAIL = { name: 'jobs_fail', text: 'SELECT penstock_job_fail($1, $2, $3, $4, $5, $6::jsonb) AS moved' };
const SPENT = { name: 'jobs_spent', text: 'SELECT penstock_job_spent($1, $2, $3::jsonb) AS noted' };
const CANCEL = {
  name: 'jobs_cancel',
  text: `SELECT c.moved, ${JOB_COLUMNS.replace(/\w+/g, '(c.job).$&')} FROM penstock_job_cancel($1, $2) c`,
};

/** processing → failed; releases the reservation. Returns false if the attempt had lost the job. */
export async function failJob(
  sql: Sql,
  failure: {
    workerId: string;
    attempt: Attempt;
    message: string;
    code: ErrorCode;
    record: OperationOutcome;
  },
): Promise<boolean> {
  const { workerId, attempt, message, code, record } = failure;
  const [row] = await sql.query<{ moved: boolean }>(FAIL, [
    workerId,
    attempt.id,
    attempt.fence,
    message,
    code,
    JSON.stringify(recordJson(record)),
  ]);
  return row?.moved === true;
}

/** pending or processing → cancelled; releases the reservation. `moved` is false for a finished job; null for an unknown one. */
export async function cancelJob(
  sql: Sql,
  orgId: string,
  id: string,
): Promise<{ moved: boolean; job: Job } | null> {
  const [row] = await sql.query<JobRow & { moved: boolean }>(CANCEL, [orgId, id]);
  return row ? { moved: row.moved, job: toJob(row) } : null;
}

/** Adds the cost of an attempt that did not end its job to the cost of the job's operation. Once for each attempt. */
export async function noteSpent(
  sql: Sql,
  { id, fence }: Attempt,
  record: OperationOutcome,
): Promise<boolean> {
  const [row] = await sql.query<{ noted: boolean }>(SPENT, [id, fence, JSON.stringify(recordJson(record))]);
  return row?.noted === true;
}
