import type { Sql } from '../../database/index.js';
import { notFound } from '../../contract/errors.js';
import type { NewLink } from './people.types.js';
import { hashToken, isToken, newToken } from './sessions.js';

const LINK_DAYS = 7;

/** Whose credential, and which organisation vouches for it; null: the operator, an identity provider. */
export interface Voucher {
  userId: string;
  voucher: string | null;
}

/** Where a link leads: its token stands behind the `#`, which no browser sends and no proxy logs. */
export const signInUrl = (publicUrl: string, token: string): string => `${publicUrl}/dashboard#link=${token}`;

/** What a person was given by one who vouches for them (null: the operator). */
export async function endLinks(sql: Sql, { userId, voucher }: Voucher): Promise<void> {
  await sql.query('DELETE FROM sign_in_links WHERE user_id = $1 AND vouched_by IS NOT DISTINCT FROM $2', [
    userId,
    voucher,
  ]);
}

/** A new one-time link of a person; earlier ones of the same voucher end. Inside a transaction: of several that are made at once the last one stays. */
export async function insertLink(sql: Sql, { userId, voucher }: Voucher): Promise<NewLink> {
  const token = newToken();
  await sql.query('SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
  await endLinks(sql, { userId, voucher });
  const [row] = await sql.query<{ expires_at: Date }>(
    `INSERT INTO sign_in_links (hash, user_id, vouched_by, expires_at) VALUES ($1, $2, $3, now() + interval '${LINK_DAYS} days')
     RETURNING expires_at`,
    [hashToken(token), userId, voucher],
  );
  if (row === undefined) throw new Error('a link that was just written is not there');
  return { token, expiresAt: row.expires_at.toISOString() };
}

const unknownLink = () => notFound('Link is invalid or has expired');

/** @throws ApiError not_found */
export async function readLink(
  sql: Sql,
  token: unknown,
): Promise<{ userId: string; email: string; expiresAt: string }> {
  if (!isToken(token)) throw unknownLink();
  const [row] = await sql.query<{ id: string; email: string; expires_at: Date }>(
    'SELECT u.id, u.email, l.expires_at FROM sign_in_links l JOIN users u ON u.id = l.user_id WHERE l.hash = $1 AND l.expires_at > now()',
    [hashToken(token)],
  );
  if (row === undefined) throw unknownLink();
  return { userId: row.id, email: row.email, expiresAt: row.expires_at.toISOString() };
}

/** Of several at once one has it. Inside a transaction. @returns whose it was, and who vouches for that. @throws ApiError not_found */
export async function takeLink(sql: Sql, token: unknown): Promise<Voucher> {
  if (!isToken(token)) throw unknownLink();
  // First what whoever vouches for the address locks first.
  await sql.query(
    'SELECT 1 FROM credentials c JOIN sign_in_links l ON l.user_id = c.user_id WHERE l.hash = $1 FOR UPDATE OF c',
    [hashToken(token)],
  );
  const [row] = await sql.query<{ user_id: string; vouched_by: string | null; valid: boolean }>(
    'DELETE FROM sign_in_links WHERE hash = $1 RETURNING user_id, vouched_by, expires_at > now() AS valid',
    [hashToken(token)],
  );
  if (row?.valid !== true) throw unknownLink();
  return { userId: row.user_id, voucher: row.vouched_by };
}
