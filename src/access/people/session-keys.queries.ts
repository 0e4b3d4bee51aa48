import type { Sql } from '../../database/index.js';
import { ApiError, notFound } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { SCOPES } from '../../contract/words.js';
import { randomBytes } from 'node:crypto';
import type { SessionCredential } from '../access.types.js';
import { hashToken, isToken } from './sessions.js';

/**
 * In each organisation a session acts by a key of its own, so rate windows, usage, revocation and the closing of connections work as for every
 * key. The key is made at the session's first request there. The statement locks the rows that a sign-out or a removal of the member changes, so
 * it waits for those.
 */
const ENSURE = {
  name: 'penstock_session_key',
  text: `
WITH who AS MATERIALIZED (
  SELECT s.id, s.user_id, s.expires_at, m.org_id FROM sessions s
  LEFT JOIN LATERAL (
    SELECT org_id FROM members
    WHERE user_id = s.user_id AND ($2::text IS NULL OR org_id = $2) AND (s.vouched_by IS NULL OR org_id = ANY (s.vouched_by))
    ORDER BY created_at, org_id LIMIT 1 FOR KEY SHARE) m ON true
  WHERE s.hash = $1 AND s.revoked_at IS NULL AND s.expires_at > now()
  FOR SHARE OF s),
made AS (
  INSERT INTO api_keys (id, org_id, user_id, name, prefix, hash, scopes, expires_at, session_id)
  SELECT $3, who.org_id, who.user_id, left(u.email, 190) || ' (session)', 'session', $4, $5, who.expires_at, who.id
  FROM who JOIN users u ON u.id = who.user_id WHERE who.org_id IS NOT NULL
  ON CONFLICT (session_id, org_id) WHERE session_id IS NOT NULL AND revoked_at IS NULL DO NOTHING)
SELECT id AS session_id, org_id FROM who`,
};

/** The error for an unknown or ended session. */
export const sessionEnded = (): ApiError => new ApiError('unauthorized', 'Session has ended');

/**
 * @returns the session and the organisation of the key
 * @throws ApiError unauthorized; not_found for an organisation that is not the person's; forbidden for a person without an organisation
 */
export async function ensureSessionKey(
  sql: Sql,
  { token, orgId }: SessionCredential,
): Promise<{ sessionId: string; orgId: string }> {
  if (!isToken(token)) throw sessionEnded();
  // Random bytes, not the hash of a text: so nobody can send this key.
  const values = [hashToken(token), orgId, newId('key'), randomBytes(32), [...SCOPES]];
  const [row] = await sql.query<{ session_id: string; org_id: string | null }>(ENSURE, values);
  if (row === undefined) throw sessionEnded();
  if (row.org_id !== null) return { sessionId: row.session_id, orgId: row.org_id };
  if (orgId !== null) throw notFound('Organization not found');
  throw new ApiError('forbidden', 'Not a member of any organization');
}
