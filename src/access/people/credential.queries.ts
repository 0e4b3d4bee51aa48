/**
 * People's credentials, and who comes first where several name, prove or use one address at the same moment: statements that lock, and that write by what they find.
 * A credential has no key that an entity could have: `vouched_by` may be null. The order of locks is everybody's: the user, credentials, links, sessions,
 * keys.
 */

/** Nothing where somebody has the address. */
export const INSERT_PERSON = `INSERT INTO users (id, email, kind) VALUES ($1, $2, 'person')
  ON CONFLICT (lower(email)) DO NOTHING RETURNING id`;

export const LOCK_ADDRESS = 'SELECT id FROM users WHERE lower(email) = $1 FOR NO KEY UPDATE';

export const LOCK_PERSON = 'SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE';

export const LOCK_CREDENTIALS = 'SELECT 1 FROM credentials WHERE user_id = $1 ORDER BY vouched_by FOR UPDATE';

/** Of a person whom this transaction has made. */
export const INSERT_CREDENTIAL = 'INSERT INTO credentials (user_id, vouched_by) VALUES ($1, $2)';

/** One more organisation's word for an address, as long as only organisations vouch for it. */
export const INSERT_UNPROVEN = `INSERT INTO credentials (user_id, vouched_by)
  SELECT $1, $2 WHERE EXISTS (SELECT 1 FROM credentials WHERE user_id = $1 AND vouched_by IS NOT NULL)
  ON CONFLICT DO NOTHING`;

/** The address is proven: what organisations vouched for goes. */
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

/** One for each organisation that vouches for the address, until it is proven: then there is one at most. */
export const PASSWORDS = `SELECT password_hash AS stored, vouched_by AS "vouchedBy" FROM credentials
  WHERE user_id = $1 AND password_hash IS NOT NULL ORDER BY vouched_by`;

/** Nothing where another password has taken this one's place. */
export const HOLD_PASSWORD = `SELECT 1 FROM credentials
  WHERE user_id = $1 AND vouched_by IS NOT DISTINCT FROM $2 AND password_hash = $3 FOR UPDATE`;

/** What counts of some people in one organisation: what is proven, else what it vouches for itself. */
export const CREDENTIALS_IN = `SELECT DISTINCT ON (user_id) user_id, vouched_by, signed_in_at, password_hash IS NOT NULL AS has_password
  FROM credentials WHERE user_id = ANY ($1) AND (vouched_by IS NULL OR vouched_by = $2)
  ORDER BY user_id, vouched_by NULLS FIRST`;

/** What whoever vouches for the address locks first, of a link's person. */
export const LOCK_FOR_LINK = `SELECT 1 FROM credentials c JOIN sign_in_links l ON l.user_id = c.user_id
  WHERE l.hash = $1 FOR UPDATE OF c`;

/** Of several who follow a link at once, one has it. */
export const TAKE_LINK = `DELETE FROM sign_in_links WHERE hash = $1
  RETURNING user_id, vouched_by, expires_at > now() AS valid`;
