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
export async function insertSession(em: EntityManager, userId: string, reach: Reach): Promise<string> {
  const token = newToken();
  // What their usage records name is the session's keys, which stay.
  const old = { $lt: raw<Date>(`now() - interval '1 day'`) };
  await em.nativeDelete(Session, { userId, $or: [{ revokedAt: old }, { expiresAt: old }] });
  const expiresAt = raw<Date>(`now() + interval '${SESSION_DAYS} days'`);
  const session = { id: newId('ses'), userId, hash: hashToken(token), vouchedBy: reach, expiresAt };
  await em.insert(Session, session);
  return token;
}

/**
 * Ends sessions with the keys that they have in organisations, and tells every process. Inside a transaction: the keys in a statement of
 * their own, which sees those that were made while the first waited.
 */
async function end(em: EntityManager, statement: string, values: SqlValue[]): Promise<void> {
  const ended = await sqlOf(em).query<{ id: string }>(statement, values);
  await sqlOf(em).query(END_KEYS_OF, [ended.map(({ id }) => id)]);
}

/** Inside a transaction. */
export async function endSession(em: EntityManager, token: string): Promise<void> {
  await end(em, END_BY_HASH, [hashToken(token)]);
}

/**
 * Sessions of a person: all, or those that reach into one of some organisations; but one may go on. Inside a transaction.
 */
export async function endSessions(
  em: EntityManager,
  userId: string,
  { reach = null, except = null }: { reach?: Reach; except?: string | null } = {},
): Promise<void> {
  await end(em, END_OF_PERSON, [userId, reach, except]);
}

/** What a person's sessions have in one organisation ends with their membership. */
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

/** How far a session that goes on reaches; nowhere, where it ended. */
export async function reachOf(em: EntityManager, sessionId: string): Promise<Reach> {
  const session = await em.findOne(Session, { id: sessionId });
  return session === null ? [] : (session.vouchedBy ?? null);
}
