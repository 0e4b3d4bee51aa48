import { hash, randomBytes } from 'node:crypto';
import type { Sql, SqlValue } from '../../database/index.js';
import { newId } from '../../contract/ids.js';
import type { SignedIn } from './people.types.js';

/** How long a session lasts, whatever is done with it. */
export const SESSION_DAYS = 30;

/** What the database knows a session's or a link's token by. */
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer');

/** 256 bits from a CSPRNG, 43 characters. */
export const newToken = (): string => randomBytes(32).toString('base64url');

const TOKEN_FORM = /^[\w-]{43}$/;

/** Whether a text can be a token at all; what cannot is refused without a query. */
export const isToken = (text: unknown): text is string => typeof text === 'string' && TOKEN_FORM.test(text);

/** How far a session reaches: into the organisations that vouched for how it began; null: into all of the person's. */
export type Reach = string[] | null;

/** @returns the token */
export async function insertSession(sql: Sql, userId: string, reach: Reach): Promise<string> {
  const token = newToken();
  // What their usage records name is the session's keys, which stay.
  await sql.query(
    `DELETE FROM sessions WHERE user_id = $1 AND LEAST(revoked_at, expires_at) < now() - interval '1 day'`,
    [userId],
  );
  await sql.query(
    `INSERT INTO sessions (id, user_id, hash, vouched_by, expires_at) VALUES ($1, $2, $3, $4, now() + interval '${SESSION_DAYS} days')`,
    [newId('ses'), userId, hashToken(token), reach],
  );
  return token;
}

/** In the order of their ids, as everybody locks several keys: else a sign-out, a removal and a usage mark could wait for each other. */
const endKeysWhere = (condition: string): string => `
WITH closing AS MATERIALIZED (
  SELECT id FROM api_keys WHERE ${condition} AND revoked_at IS NULL ORDER BY id FOR NO KEY UPDATE),
closed AS (
  UPDATE api_keys k SET revoked_at = clock_timestamp() FROM closing c WHERE k.id = c.id RETURNING k.id)
SELECT pg_notify('penstock_key_invalid', id)::text FROM closed`;

/**
 * Ends sessions with the keys that they have in organisations, and tells every process. Inside a transaction: the keys in a statement of
 * their own, which sees those that were made while the first waited.
 */
async function endWhere(sql: Sql, condition: string, values: SqlValue[]): Promise<void> {
  const ended = await sql.query<{ id: string }>(
    `UPDATE sessions s SET revoked_at = clock_timestamp() WHERE ${condition} AND s.revoked_at IS NULL RETURNING s.id`,
    values,
  );
  await sql.query(endKeysWhere('session_id = ANY($1)'), [ended.map(({ id }) => id)]);
}

/** Inside a transaction. */
export async function endSession(sql: Sql, token: string): Promise<void> {
  await endWhere(sql, 's.hash = $1', [hashToken(token)]);
}

/**
 * Sessions of a person: all, or those that reach into one of some organisations; but one may go on. Inside a transaction.
 */
export async function endSessions(
  sql: Sql,
  userId: string,
  { reach = null, except = null }: { reach?: Reach; except?: string | null } = {},
): Promise<void> {
  await endWhere(
    sql,
    's.user_id = $1 AND ($2::text[] IS NULL OR s.vouched_by IS NULL OR s.vouched_by && $2) AND s.id IS DISTINCT FROM $3',
    [userId, reach, except],
  );
}

/** What a person's sessions have in one organisation ends with their membership. */
export async function endSessionsIn(sql: Sql, orgId: string, userId: string): Promise<void> {
  await sql.query(endKeysWhere('org_id = $1 AND user_id = $2 AND session_id IS NOT NULL'), [orgId, userId]);
}

const MEMBERSHIPS = `SELECT o.id, o.name, m.role FROM members m JOIN organizations o ON o.id = m.org_id
WHERE m.user_id = $1 AND ($2::text[] IS NULL OR m.org_id = ANY ($2)) ORDER BY m.created_at, m.org_id`;

/** Null: there is no such person. */
export async function findSignedIn(sql: Sql, userId: string, reach: Reach): Promise<SignedIn | null> {
  const [user] = await sql.query<SignedIn['user']>(
    `SELECT id, email FROM users WHERE id = $1 AND kind = 'person'`,
    [userId],
  );
  if (user === undefined) return null;
  return {
    user,
    organizations: await sql.query<SignedIn['organizations'][number]>(MEMBERSHIPS, [userId, reach]),
  };
}

/** Null: no session, or one that ended. */
export async function findSession(sql: Sql, token: string): Promise<SignedIn | null> {
  const [row] = await sql.query<{ user_id: string; vouched_by: Reach }>(
    'SELECT user_id, vouched_by FROM sessions WHERE hash = $1 AND revoked_at IS NULL AND expires_at > now()',
    [hashToken(token)],
  );
  return row === undefined ? null : findSignedIn(sql, row.user_id, row.vouched_by);
}

/** How far a session that goes on reaches; nowhere, where it ended. */
export async function reachOf(sql: Sql, sessionId: string): Promise<Reach> {
  const [row] = await sql.query<{ vouched_by: Reach }>('SELECT vouched_by FROM sessions WHERE id = $1', [
    sessionId,
  ]);
  return row === undefined ? [] : row.vouched_by;
}
