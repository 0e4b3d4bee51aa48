import { hash, randomBytes } from 'node:crypto';
import { raw } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { sqlOf } from '../../database/index.js';
import type { SqlValue } from '../../database/index.js';
import { newId } from '../../contract/ids.js';
import { Member, Organization } from '../access.entity.js';
import { Session, User } from './people.entity.js';
import type { SignedIn } from './people.types.js';
import { END_BY_HASH, END_KEYS_IN, END_KEYS_OF, END_OF_PERSON } from './session.queries.js';

/** How long a session lasts; use does not prolong it. */
export const SESSION_DAYS = 30;

/** The hash by which the database finds a session's or a link's token. */
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer');

/** 256 bits from a CSPRNG, 43 characters. */
export const newToken = (): string => randomBytes(32).toString('base64url');

const TOKEN_FORM = /^[\w-]{43}$/;

/** Whether a text has the form of a token; other texts are refused without a query. */
export const isToken = (text: unknown): text is string => typeof text === 'string' && TOKEN_FORM.test(text);

/** The organisations that a session may use: those that vouched for the password or link it began with; null: all of the person's. */
export type Reach = string[] | null;

/** @returns the token */
export async function insertSession(em: EntityManager, userId: string, reach: Reach): Promise<string> {
  const token = newToken();
  // Old sessions can be deleted: usage records refer to the session's keys, which are kept.
  const old = { $lt: raw<Date>(`now() - interval '1 day'`) };
  await em.nativeDelete(Session, { userId, $or: [{ revokedAt: old }, { expiresAt: old }] });
  const expiresAt = raw<Date>(`now() + interval '${SESSION_DAYS} days'`);
  const session = { id: newId('ses'), userId, hash: hashToken(token), vouchedBy: reach, expiresAt };
  await em.insert(Session, session);
  return token;
}

/**
 * Ends sessions and their keys, and notifies every process. Call it inside a transaction. The keys are ended by a second statement, which also
 * sees keys that were made while the first statement waited for a lock.
 */
async function end(em: EntityManager, statement: string, values: SqlValue[]): Promise<void> {
  const ended = await sqlOf(em).query<{ id: string }>(statement, values);
  await sqlOf(em).query(END_KEYS_OF, [ended.map(({ id }) => id)]);
}

/** Inside a transaction. */
export async function endSession(em: EntityManager, token: string): Promise<void> {
  await end(em, END_BY_HASH, [hashToken(token)]);
}

/** Ends a person's sessions: all, or those that reach one of the given organisations; one session may be excepted. Call it inside a transaction. */
export async function endSessions(
  em: EntityManager,
  userId: string,
  { reach = null, except = null }: { reach?: Reach; except?: string | null } = {},
): Promise<void> {
  await end(em, END_OF_PERSON, [userId, reach, except]);
}

/** Ends the keys of a person's sessions in one organisation, together with the membership. */
export async function endSessionsIn(em: EntityManager, orgId: string, userId: string): Promise<void> {
  await sqlOf(em).query(END_KEYS_IN, [orgId, userId]);
}

/** Null: there is no such person. */
export async function findSignedIn(
  em: EntityManager,
  userId: string,
  reach: Reach,
): Promise<SignedIn | null> {
  const user = await em.findOne(User, { id: userId, kind: 'person' });
  if (user === null) return null;
  const members = await em.find(
    Member,
    { user: userId, ...(reach === null ? {} : { orgId: { $in: reach } }) },
    { orderBy: { createdAt: 'asc', orgId: 'asc' } },
  );
  const ids = members.map(({ orgId }) => orgId);
  const found = await em.find(Organization, { id: { $in: ids } });
  const names = new Map(found.map(({ id, name }) => [id, name]));
  const organizations = members.map(({ orgId, role }) => ({ id: orgId, name: names.get(orgId) ?? '', role }));
  return { user: { id: user.id, email: user.email ?? '' }, organizations };
}

/** Null: no session, or one that ended. */
export async function findSession(em: EntityManager, token: string): Promise<SignedIn | null> {
  const session = await em.findOne(Session, {
    hash: hashToken(token),
    revokedAt: null,
    expiresAt: { $gt: raw<Date>('now()') },
  });
  return session === null ? null : await findSignedIn(em, session.userId, session.vouchedBy ?? null);
}

/** The reach of a session; an empty list if it has ended. */
export async function reachOf(em: EntityManager, sessionId: string): Promise<Reach> {
  const session = await em.findOne(Session, { id: sessionId });
  return session === null ? [] : (session.vouchedBy ?? null);
}
