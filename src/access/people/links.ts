import { raw } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { sqlOf } from '../../database/index.js';
import { notFound } from '../../contract/errors.js';
import { recordCredential } from './credential-audit.js';
import { LOCK_FOR_LINK, LOCK_PERSON, CONSUME_LINK } from './credential.queries.js';
import { SignInLink } from './people.entity.js';
import type { CredentialOwner, NewLink } from './people.types.js';
import { hashToken, isToken, newToken } from './sessions.js';

const LINK_DAYS = 7;

/** The address of a sign-in link. The token follows the `#`, a part that browsers do not send and proxies do not log. */
export const signInUrl = (publicUrl: string, token: string): string => `${publicUrl}/dashboard#link=${token}`;

/** Deletes the sign-in links that one organisation (or the operator) made for a person. */
export async function endLinks(em: EntityManager, { userId, vouchedBy }: CredentialOwner): Promise<void> {
  await em.nativeDelete(SignInLink, { user: userId, vouchedBy: vouchedBy });
}

/**
 * A new one-time link of a person; earlier ones of the same organisation (`vouchedBy`) end. Call it inside a transaction: of several links that
 * are made at once, the last one is kept.
 */
export async function insertLink(
  em: EntityManager,
  { userId, vouchedBy }: CredentialOwner,
): Promise<NewLink> {
  const token = newToken();
  await sqlOf(em).query(LOCK_PERSON, [userId]);
  await endLinks(em, { userId, vouchedBy });
  const hash = hashToken(token);
  const expiresAt = raw<Date>(`now() + interval '${LINK_DAYS} days'`);
  await em.insert(SignInLink, { hash, user: userId, vouchedBy: vouchedBy, expiresAt });
  const made = await em.findOneOrFail(SignInLink, { hash });
  await recordCredential(em, { userId, vouchedBy }, { action: 'sign_in_link_created' });
  return { token, expiresAt: made.expiresAt.toISOString() };
}

const unknownLink = () => notFound('Link is invalid or has expired');

/** @throws ApiError not_found */
export async function readLink(
  em: EntityManager,
  token: unknown,
): Promise<{ userId: string; email: string; expiresAt: string }> {
  if (!isToken(token)) throw unknownLink();
  const valid = { hash: hashToken(token), expiresAt: { $gt: raw<Date>('now()') } };
  const link = await em.findOne(SignInLink, valid, { populate: ['user'] });
  if (link === null) throw unknownLink();
  const { id, email } = link.user;
  return { userId: id, email: email ?? '', expiresAt: link.expiresAt.toISOString() };
}

/**
 * Uses a link up; of several simultaneous calls one succeeds. Call it inside a transaction. @returns the link's person, and who vouches for them.
 * @throws ApiError not_found
 */
export async function consumeLink(em: EntityManager, token: unknown): Promise<CredentialOwner> {
  if (!isToken(token)) throw unknownLink();
  const [sql, hash] = [sqlOf(em), hashToken(token)];
  await sql.query(LOCK_FOR_LINK, [hash]);
  const [taken] = await sql.query<{ user_id: string; vouched_by: string | null; valid: boolean }>(
    CONSUME_LINK,
    [hash],
  );
  if (taken?.valid !== true) throw unknownLink();
  return { userId: taken.user_id, vouchedBy: taken.vouched_by };
}
