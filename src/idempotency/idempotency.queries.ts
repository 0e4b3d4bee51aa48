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
/** Not flushed to disk by itself: the charge that follows is flushed, and this write with it. */
const KEEP_MADE: Statement = {
  name: 'idempotency_keep_made',
  text: `UPDATE idempotency_keys SET made = $3 WHERE id = $1 AND process_id = $2 AND state = 'in_flight'
    RETURNING set_config('synchronous_commit', 'off', true)`,
};
const MADE: Statement = { name: 'idempotency_made', text: 'SELECT made FROM idempotency_keys WHERE id = $1' };
/**
 * If bound objects exist that have not failed or been cancelled, they may have been charged. Then the key is kept, and a retry gets those
 * objects.
 */
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

/** Runs in the transaction that creates a call's object. */
export const BIND: Statement = { name: 'idempotency_bind', text: 'SELECT penstock_idempotency_bind($1, $2)' };

/** What `penstock_idempotency_begin` decided. */
export interface BeginRow {
  outcome: 'run' | 'mismatch' | 'done' | 'in_flight';
  row_id: string;
  /** For `run`: null if another request had the key before. */
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
  /** Null if the body is over the size limit. */
  body: Buffer | null;
  scopes: string[];
}

/**
 * Stores the answer. Changes nothing if another process has taken the key over. If a part was stored before, the row lists only the jobs since
 * then.
 */
export async function finish(sql: Sql, input: FinishInput): Promise<void> {
  const headers = JSON.stringify(input.headers);
  await sql.query(FINISH, [input.rowId, input.processId, input.status, headers, input.body, input.scopes]);
}

export type PartInput = FinishInput & { jobs: string[] };

/** Stores a partial answer and releases the key: a retry continues from it. */
export async function keepPart(sql: Sql, input: PartInput): Promise<void> {
  await sql.query(KEEP_PART, partValues(input));
}

/** Stores a partial answer while the work continues. If this process dies, the request that takes the key over continues from it. */
export async function notePart(sql: Sql, input: PartInput): Promise<void> {
  await sql.query(NOTE_PART, partValues(input));
}

function partValues({ rowId, processId, status, headers, body, scopes, jobs }: PartInput): SqlValue[] {
  return [rowId, processId, status, JSON.stringify(headers), body, scopes, jobs];
}

/**
 * Stores an answer that is about to be charged (null if it is too long), in the place of the one before it.
 * @returns false if another process has taken the key over
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

/** Forgets the key: the next request with it does the work again, except for objects that were created and not failed. */
export async function forget(sql: Sql, rowId: string, processId: string): Promise<void> {
  await sql.query(FORGET, [rowId, processId]);
}

/** Releases the key but keeps its jobs: the next request with it takes it over immediately. */
export async function release(sql: Sql, rowId: string, processId: string): Promise<void> {
  await sql.query(RELEASE, [rowId, processId]);
}

export async function purge(sql: Sql): Promise<void> {
  await sql.query(PURGE);
}
