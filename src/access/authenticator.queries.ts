/** Reads of keys and sessions for authentication: one statement and one round trip each, because every call waits for it. */

/** The budgets that concern a caller; null: there are none. @param token its id in SQL, whose cap is one of them */
const budgets = (
  token = 'NULL',
) => `(SELECT json_agg(json_build_object('id', b.id, 'name', b.name, 'scope', b.scope, 'subject', b.subject, 'unit', b.unit, 'cap', b.cap::text,
    'period', b.period, 'hard', b.hard) ORDER BY b.id) FROM budgets b
    WHERE b.org_id = o.id AND (b.token_id IS NULL OR b.token_id = ${token})) AS budgets`;

/** @param capOf id in SQL of a token whose cap counts, too */
const select = (expiresAt = 'k.expires_at', capOf?: string) => `
SELECT k.id AS key_id, k.name AS key_name, k.org_id, k.user_id, k.scopes, ${expiresAt} AS expires_at, k.revoked_at IS NOT NULL AS revoked,
  COALESCE(${expiresAt} <= now(), false) AS expired, k.models, k.rate_rpm, k.rate_burst, k.end_user, k.tags, k.is_router, o.plan_code, o.subscription_ends_at, o.version,
  ${budgets(capOf)},
  clock_timestamp() AS read_at, k.session_id, m.role
FROM api_keys k JOIN organizations o ON o.id = k.org_id
LEFT JOIN members m ON k.session_id IS NOT NULL AND m.org_id = k.org_id AND m.user_id = k.user_id`;

/** Of a key that was rotated, its text before counts for a while. */
export const BY_HASH = {
  name: 'penstock_key_by_hash',
  text: `${select()} WHERE k.hash = $1
UNION ALL ${select('LEAST(k.expires_at, k.previous_until)')} WHERE k.previous_hash = $1`,
};

export const BY_SESSION = {
  name: 'penstock_key_by_session',
  text: `${select()} WHERE k.session_id = $1 AND k.org_id = $2 AND k.revoked_at IS NULL`,
};

/** $2: a client token whose cap counts, or null. */
export const BY_ID = {
  name: 'penstock_key_by_id',
  text: `${select('k.expires_at', '$2')} WHERE k.id = $1`,
};

/** A client token is its maker's key, narrowed. */
const token = (condition: string): string => `
SELECT k.id AS key_id, k.name AS key_name, k.org_id, k.user_id, ARRAY(SELECT s FROM unnest(t.scopes) s WHERE s = ANY (k.scopes)) AS scopes,
  LEAST(t.expires_at, k.expires_at) AS expires_at, k.revoked_at IS NOT NULL AS revoked,
  LEAST(t.expires_at, k.expires_at) <= now() AS expired, k.models, k.rate_rpm, k.rate_burst, COALESCE(k.end_user, t.end_user) AS end_user,
  k.tags || t.tags AS tags, false AS is_router, o.plan_code, o.subscription_ends_at, o.version, clock_timestamp() AS read_at, NULL AS session_id, NULL AS role,
  ${budgets('t.id')},
  t.id AS token_id, t.rate_rpm AS token_rpm, t.rate_burst AS token_burst, t.bound_kind, t.bound_id
FROM client_tokens t JOIN api_keys k ON k.id = t.maker_id JOIN organizations o ON o.id = k.org_id WHERE ${condition}`;

export const TOKEN_BY_HASH = { name: 'penstock_token_by_hash', text: token('t.hash = $1') };

export const TOKEN_BY_ID = { name: 'penstock_token_by_id', text: token('t.id = $1') };

/** Which of the given keys and client tokens are revoked or expired. */
export const DEAD_KEYS = {
  name: 'penstock_dead_keys',
  text: `SELECT w.id FROM unnest($1::text[]) AS w (id)
         LEFT JOIN api_keys k ON k.id = w.id LEFT JOIN client_tokens t ON t.id = w.id
         WHERE k.id IS NULL AND t.id IS NULL OR k.revoked_at IS NOT NULL OR k.expires_at <= now() OR t.expires_at <= now()`,
};

/**
 * Writes when keys were last used, for many keys at once. Locks them in the order of their ids, as every statement that changes several keys
 * does.
 */
export const MARK_USED = {
  name: 'penstock_mark_keys_used',
  text: `
WITH used AS MATERIALIZED (SELECT id FROM api_keys WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE)
UPDATE api_keys k SET last_used_at = now() FROM used u WHERE k.id = u.id`,
};
