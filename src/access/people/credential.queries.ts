/**
 * Statements on people's credentials. They lock rows, and decide what to write by what they find, because several callers can name, prove or use
 * one address at the same moment. `credentials` has no entity: its key column `vouched_by` may be null. All transactions lock in this order: the
 * user, credentials, links, sessions, keys.
 */

/** Inserts nothing if a person with this address exists. */
export const INSERT_PERSON = `INSERT INTO users (id, email, kind) VALUES ($1, $2, 'person')
  ON CONFLICT (lower(email)) DO NOTHING RETURNING id`;

export const LOCK_ADDRESS = 'SELECT id FROM users WHERE lower(email) = $1 FOR NO KEY UPDATE';

export const LOCK_PERSON = 'SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE';

export const LOCK_CREDENTIALS = 'SELECT 1 FROM credentials WHERE user_id = $1 ORDER BY vouched_by FOR UPDATE';

/** The first credential of a person whom this transaction has inserted. */
export const INSERT_CREDENTIAL = 'INSERT INTO credentials (user_id, vouched_by) VALUES ($1, $2)';

/** Adds an organisation that vouches for an address, unless the address is proven. */
export const INSERT_UNPROVEN = `INSERT INTO credentials (user_id, vouched_by)
  SELECT $1, $2 WHERE EXISTS (SELECT 1 FROM credentials WHERE user_id = $1 AND vouched_by IS NOT NULL)
  ON CONFLICT DO NOTHING`;

/** Deletes the credentials that organisations vouched for, because the address is proven now. */
export const DELETE_UNPROVEN = `WITH gone AS (
    DELETE FROM credentials WHERE user_id = $1 AND vouched_by IS NOT NULL RETURNING signed_in_at)
  SELECT count(*)::int AS n, max(signed_in_at) AS signed_in_at FROM gone`;

export const INSERT_PROVEN =
  'INSERT INTO credentials (user_id, signed_in_at) VALUES ($1, $2) ON CONFLICT DO NOTHING';

export const SIGNED_IN = `INSERT INTO credentials (user_id, vouched_by, signed_in_at)
  SELECT $1, voucher, now() FROM unnest(COALESCE($2::text[], ARRAY[NULL])) voucher ORDER BY voucher
  ON CONFLICT (user_id, (COALESCE(vouched_by, ''))) DO UPDATE SET signed_in_at = now()`;

export const STORE_PASSWORD = `INSERT INTO credentials (user_id, vouched_by, password_hash) VALUES ($1, $2, $3)
  ON CONFLICT (user_id, (COALESCE(vouched_by, ''))) DO UPDATE SET password_hash = EXCLUDED.password_hash`;

/** A person's passwords: one for each organisation that vouches for the address; at most one once the address is proven. */
export const PASSWORDS = `SELECT password_hash AS stored, vouched_by AS "vouchedBy" FROM credentials
  WHERE user_id = $1 AND password_hash IS NOT NULL ORDER BY vouched_by`;

/** Locks a password; answers nothing if the password has been changed since it was read. */
export const LOCK_PASSWORD = `SELECT 1 FROM credentials
  WHERE user_id = $1 AND vouched_by IS NOT DISTINCT FROM $2 AND password_hash = $3 FOR UPDATE`;

/** People's credentials that are valid in one organisation: the proven one, else the one that this organisation vouches for. */
export const CREDENTIALS_IN = `SELECT DISTINCT ON (user_id) user_id, vouched_by, signed_in_at, password_hash IS NOT NULL AS has_password
  FROM credentials WHERE user_id = ANY ($1) AND (vouched_by IS NULL OR vouched_by = $2)
  ORDER BY user_id, vouched_by NULLS FIRST`;

/** Locks the credentials of a link's person, as every transaction that vouches for an address does first. */
export const LOCK_FOR_LINK = `SELECT 1 FROM credentials c JOIN sign_in_links l ON l.user_id = c.user_id
  WHERE l.hash = $1 FOR UPDATE OF c`;

/** If several browsers use a link at once, one of them gets it. */
export const CONSUME_LINK = `DELETE FROM sign_in_links WHERE hash = $1
  RETURNING user_id, vouched_by, expires_at > now() AS valid`;
