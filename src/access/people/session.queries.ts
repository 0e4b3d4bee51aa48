/** Statements that end sessions, and the keys that sessions have in organisations (ADR 10). */

/**
 * Locks keys in the order of their ids, as every statement does that changes several keys; otherwise a sign-out, a removal and a write of
 * `last_used_at` could deadlock.
 */
const endKeysWhere = (condition: string): string => `
WITH closing AS MATERIALIZED (
  SELECT id FROM api_keys WHERE ${condition} AND revoked_at IS NULL ORDER BY id FOR NO KEY UPDATE),
closed AS (
  UPDATE api_keys k SET revoked_at = clock_timestamp() FROM closing c WHERE k.id = c.id RETURNING k.id)
SELECT pg_notify('penstock_key_invalid', id)::text FROM closed`;

export const END_KEYS_OF = endKeysWhere('session_id = ANY($1)');

/** The keys of a person's sessions in one organisation. */
export const END_KEYS_IN = endKeysWhere('org_id = $1 AND user_id = $2 AND session_id IS NOT NULL');

const endWhere = (condition: string): string => `
UPDATE sessions s SET revoked_at = clock_timestamp() WHERE ${condition} AND s.revoked_at IS NULL RETURNING s.id`;

export const END_BY_HASH = endWhere('s.hash = $1');

/** A person's sessions: all, or those that reach one of the organisations in `$2`; except the session `$3`. */
export const END_OF_PERSON = endWhere(
  's.user_id = $1 AND ($2::text[] IS NULL OR s.vouched_by IS NULL OR s.vouched_by && $2) AND s.id IS DISTINCT FROM $3',
);

/** A session that only an organisation vouches for is no operator's, whoever its person is: that organisation may have set the password. */
export const IS_OPERATOR = {
  name: 'penstock_is_operator',
  text: `SELECT 1 FROM operators o JOIN sessions s ON s.user_id = o.user_id
    WHERE o.user_id = $1 AND s.id = $2 AND s.vouched_by IS NULL AND s.revoked_at IS NULL AND s.expires_at > now()`,
};
