import type { Sql, SqlValue, Statement } from '../database/database.types.js';

const BEGIN: Statement = {
  name: 'idempotency_begin',
  text: 'SELECT * FROM penstock_idempotency_begin($1, $2, $3, $4, $5)',
};
const FINISH: Statement = {
  name: 'idempotency_finish',
  text: `UPDATE idempotency_keys
    SET state = 'done', status = $3, headers = $4::jsonb, body = $5, scopes = $6, made = NULL,
      job_ids = CASE WHEN body IS NULL THEN job_ids ELSE '{}' END
    WHERE id = $1 AND process_id = $2 AND state = 'in_flight'`,
};
const NOTE_PART: Statement = {
  name: 'idempotency_note_part',
  text: `UPDATE idempotency_keys
    SET status = $3, headers = $4::jsonb, body = $5, scopes = $6, job_ids = $7, made = NULL
    WHERE id = $1 AND process_id = $2 AND state = 'in_flight'`,
};
const KEEP_PART: Statement = {
  name: 'idempotency_keep_part',
  text: `UPDATE idempotency_keys
    SET process_id = NULL, status = $3, headers = $4::jsonb, body = $5, scopes = $6, job_ids = $7, made = NULL
    WHERE id = $1 AND process_id = $2 AND state = 'in_flight'`,
};
/** Not flushed by itself: the charge that follows is, and what was written before it with it. */
const KEEP_MADE: Statement = {
  name: 'idempotency_keep_made',
  text: `UPDATE idempotency_keys SET made = $3 WHERE id = $1 AND process_id = $2 AND state = 'in_flight'
    RETURNING set_config('synchronous_commit', 'off', true)`,
};
const MADE: Statement = { name: 'idempotency_made', text: 'SELECT made FROM idempotency_keys WHERE id = $1' };
/** What was made, and has not failed or been cancelled, may be charged: then the key waits with it for a retry, which is led to it. */
const FORGET: Statement = {
  name: 'idempotency_forget',
  text: `WITH given_up AS MATERIALIZED (
      SELECT k.id, ARRAY(
          SELECT b.id FROM unnest(k.job_ids) WITH ORDINALITY b (id, nth)
          WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = b.id AND j.status IN ('failed', 'cancelled')) ORDER BY b.nth
        ) AS made
      FROM idempotency_keys k WHERE k.id = $1 AND k.process_id = $2 AND k.state = 'in_flight' FOR UPDATE
    ), waits AS (
      UPDATE idempotency_keys k SET process_id = NULL, job_ids = g.made FROM given_up g WHERE k.id = g.id AND g.made <> '{}'
    )
    DELETE FROM idempotency_keys k USING given_up g WHERE k.id = g.id AND g.made = '{}'`,
};
const RELEASE: Statement = {
  name: 'idempotency_release',
  text: `UPDATE idempotency_keys SET process_id = NULL WHERE id = $1 AND process_id = $2 AND state = 'in_flight'`,
};
const PURGE: Statement = {
  name: 'idempotency_purge',
  text: `DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'`,
};

/** In the transaction of what a call makes. */
export const BIND: Statement = { name: 'idempotency_bind', text: 'SELECT penstock_idempotency_bind($1, $2)' };

/** What `penstock_idempotency_begin` decided. */
export interface BeginRow {
  outcome: 'run' | 'mismatch' | 'done' | 'in_flight';
  row_id: string;
  /** Of `run`: null where the key was another request's before. */
  owner: string | null;
  jobs: string[];
  granted: string[];
  answer_status: number | null;
  answer_headers: Record<string, string> | null;
  answer_body: Buffer | null;
}

export interface BeginInput {
  id: string;
  orgId: string;
  key: string;
  fingerprint: Buffer;
  processId: string;
}

export async function begin(sql: Sql, input: BeginInput): Promise<BeginRow> {
  const values = [input.id, input.orgId, input.key, input.fingerprint, input.processId];
  const [row] = await sql.query<BeginRow>(BEGIN, values);
  if (row === undefined) throw new Error('penstock_idempotency_begin answered nothing');
  return row;
}

export interface FinishInput {
  rowId: string;
  processId: string;
  status: number;
  headers: Record<string, string>;
  /** Null where the body outgrew the bound. */
  body: Buffer | null;
  scopes: string[];
}

/**
 * Changes nothing where another process took the key over meanwhile. Where a part was noted, the row has only the jobs since then: without
 * the answer nobody could tell whose they are.
 */
export async function finish(sql: Sql, input: FinishInput): Promise<void> {
  const headers = JSON.stringify(input.headers);
  await sql.query(FINISH, [input.rowId, input.processId, input.status, headers, input.body, input.scopes]);
}

export type PartInput = FinishInput & { jobs: string[] };

/** The key waits for a retry, which goes on from what was done. */
export async function keepPart(sql: Sql, input: PartInput): Promise<void> {
  await sql.query(KEEP_PART, partValues(input));
}

/** The work goes on here. Who takes the key over should this process die goes on from what was done. */
export async function notePart(sql: Sql, input: PartInput): Promise<void> {
  await sql.query(NOTE_PART, partValues(input));
}

function partValues({ rowId, processId, status, headers, body, scopes, jobs }: PartInput): SqlValue[] {
  return [rowId, processId, status, JSON.stringify(headers), body, scopes, jobs];
}

/**
 * An answer that is about to be charged, null for one too long; the one before it has become part of the whole.
 * @returns false where the key is another process's by now
 */
export async function keepMade(
  sql: Sql,
  input: { rowId: string; processId: string; made: Buffer | null },
): Promise<boolean> {
  return (await sql.query(KEEP_MADE, [input.rowId, input.processId, input.made])).length > 0;
}

export async function made(sql: Sql, rowId: string): Promise<Buffer | null> {
  const [row] = await sql.query<{ made: Buffer | null }>(MADE, [rowId]);
  return row?.made ?? null;
}

/** The next request with the key does the work anew, but for what was made and stands. */
export async function forget(sql: Sql, rowId: string, processId: string): Promise<void> {
  await sql.query(FORGET, [rowId, processId]);
}

/** The key keeps its jobs, and the next request with it takes it over at once. */
export async function release(sql: Sql, rowId: string, processId: string): Promise<void> {
  await sql.query(RELEASE, [rowId, processId]);
}

export async function purge(sql: Sql): Promise<void> {
  await sql.query(PURGE);
}
