import { hash } from 'node:crypto';
import type { Sql } from '../../database/index.js';
import { ApiError } from '../../contract/errors.js';

const LIMIT = 10;
const WINDOW = `interval '15 minutes'`;

/**
 * An attempt is counted before the password is checked, so that simultaneous guesses are counted too. Unknown addresses are counted as well, so
 * that nobody can find out which addresses exist.
 */
const BEGIN = `
WITH old AS (SELECT email_hash FROM sign_in_failures WHERE failed_at < now() - ${WINDOW} AND email_hash <> $1 LIMIT 100 FOR UPDATE SKIP LOCKED),
forgotten AS (DELETE FROM sign_in_failures f USING old WHERE f.email_hash = old.email_hash)
INSERT INTO sign_in_failures AS f (email_hash, failures, failed_at) VALUES ($1, 1, now())
ON CONFLICT (email_hash) DO UPDATE SET
  failures = CASE WHEN f.failed_at < now() - ${WINDOW} THEN 1 ELSE f.failures + 1 END,
  failed_at = CASE WHEN f.failed_at >= now() - ${WINDOW} AND f.failures >= ${LIMIT} THEN f.failed_at ELSE now() END
RETURNING f.failures, ceil(extract(epoch FROM f.failed_at + ${WINDOW} - now()))::int AS wait`;

const nameOf = (email: string): Buffer => hash('sha256', email, 'buffer');

/** Counts one attempt for an address. After ten failures within 15 minutes further attempts are refused. @throws ApiError rate_limited */
export async function beginAttempt(sql: Sql, email: string): Promise<void> {
  const [row] = await sql.query<{ failures: number; wait: number }>(BEGIN, [nameOf(email)]);
  if (row !== undefined && row.failures > LIMIT)
    throw new ApiError('rate_limited', 'Too many attempts', { retryAfter: Math.max(1, row.wait) });
}

/** The right password ends the count. */
export async function endAttempts(sql: Sql, email: string): Promise<void> {
  await sql.query('DELETE FROM sign_in_failures WHERE email_hash = $1', [nameOf(email)]);
}

/** The right password of one organisation does not reset the count of guesses at passwords of others: only its own attempt is taken back. */
export async function revertAttempt(sql: Sql, email: string): Promise<void> {
  await sql.query(
    'UPDATE sign_in_failures SET failures = failures - 1 WHERE email_hash = $1 AND failures > 0',
    [nameOf(email)],
  );
}
