import { raw } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { sqlOf } from '../../database/index.js';
import type { Database } from '../../database/index.js';
import { ApiError, invalid, notFound } from '../../contract/errors.js';
import { beginAttempt, endAttempts, revertAttempt } from './attempts.queries.js';
import {
  DELETE_UNPROVEN,
  LOCK_PASSWORD,
  INSERT_PROVEN,
  LOCK_PERSON,
  PASSWORDS,
  SIGNED_IN,
  STORE_PASSWORD,
} from './credential.queries.js';
import { recordCredential } from './credential-audit.js';
import { endLinks, insertLink, readLink, consumeLink } from './links.js';
import { SignInLink, User } from './people.entity.js';
import { checkPassword, hashPassword, matchPassword, MAX_PASSWORD } from './passwords.js';
import type { CredentialOwner, NewSession, PeopleService } from './people.types.js';
import {
  endSession,
  endSessions,
  findSession,
  findSignedIn,
  insertSession,
  isToken,
  reachOf,
} from './sessions.js';
import type { Reach } from './sessions.js';

interface Person {
  id: string;
  email: string;
}

/** A person's password, and who vouches for the person who set it. */
interface Password {
  stored: string;
  vouchedBy: string | null;
}

/** Finds a person by an email address (case-insensitive). */
export async function findPerson(em: EntityManager, email: string): Promise<Person | null> {
  const address = raw((alias) => `lower(${alias}.email)`);
  return toPerson(await em.findOne(User, { [address]: email.trim().toLowerCase(), kind: 'person' }));
}

async function personById(em: EntityManager, id: string): Promise<Person> {
  const person = toPerson(await em.findOne(User, { id, kind: 'person' }));
  if (person === null) throw notFound('Person not found');
  return person;
}

const toPerson = (user: { id: string; email?: string | null } | null): Person | null =>
  user === null ? null : { id: user.id, email: user.email ?? '' };

const passwordsOf = (em: EntityManager, userId: string): Promise<Password[]> =>
  sqlOf(em).query<Password>(PASSWORDS, [userId]);

const reachBy = (vouchedBys: readonly (string | null)[]): Reach =>
  vouchedBys.includes(null) ? null : vouchedBys.filter((vouchedBy) => vouchedBy !== null);

const wrong = () => new ApiError('unauthorized', 'Invalid email or password');

/** Makes a session for an authenticated person, with the given reach. @throws ApiError forbidden */
async function createSessionFor(em: EntityManager, userId: string, reach: Reach): Promise<NewSession> {
  const signedIn = await findSignedIn(em, userId, reach);
  if (signedIn === null || signedIn.organizations.length === 0)
    throw new ApiError('forbidden', 'Not a member of any organization');
  await sqlOf(em).query(SIGNED_IN, [userId, reach]);
  return { ...signedIn, token: await insertSession(em, userId, reach) };
}

/**
 * Stores a password and ends the person's sign-in links, since a link could set another password.
 * @param stored the result of {@link hashPassword}, which takes too long to be computed inside a transaction
 */
async function storePassword(
  em: EntityManager,
  { userId, vouchedBy }: CredentialOwner,
  stored: string,
): Promise<void> {
  await sqlOf(em).query(STORE_PASSWORD, [userId, vouchedBy, stored]);
  await endLinks(em, { userId, vouchedBy });
}

/** Locks passwords until the transaction's end. Returns those that are unchanged since they were read. */
async function holdPasswords(em: EntityManager, userId: string, passwords: Password[]): Promise<Password[]> {
  const held: Password[] = [];
  for (const password of passwords) {
    const still = await sqlOf(em).query(LOCK_PASSWORD, [userId, password.vouchedBy, password.stored]);
    if (still.length > 0) held.push(password);
  }
  return held;
}

/**
 * Marks an address as proven. If only organisations vouched for it before, the passwords that were set may be somebody else's: they are deleted,
 * with their sessions and links.
 */
export async function markEmailVerified(em: EntityManager, userId: string): Promise<void> {
  const sql = sqlOf(em);
  await sql.query(LOCK_PERSON, [userId]);
  const [gone] = await sql.query<{ n: number; signed_in_at: Date | null }>(DELETE_UNPROVEN, [userId]);
  if (gone === undefined || gone.n === 0) return;
  await sql.query(INSERT_PROVEN, [userId, gone.signed_in_at]);
  await em.nativeDelete(SignInLink, { user: userId });
  await endSessions(em, userId);
}

/** Checks that the values have the form of an email address and a password, before any costly work. @throws ApiError unauthorized */
function credentialsOf(email: unknown, password: unknown): { email: string; password: string } {
  if (typeof email !== 'string' || typeof password !== 'string') throw wrong();
  if (email.length > 254 || [...password].length > MAX_PASSWORD) throw wrong();
  return { email: email.trim().toLowerCase(), password };
}

/** Finds which of the passwords matches. @throws ApiError rate_limited */
type Verify = (
  email: string,
  password: string,
  tried: { passwords: Password[]; areAll: boolean },
) => Promise<Password[]>;

/** @see PeopleService */
export function createPeopleService({ database }: { database: Database }): PeopleService {
  const { system } = database;
  const verify: Verify = async (email, password, { passwords, areAll }) => {
    await beginAttempt(system, email);
    const right = await matchPassword(password, passwords);
    // A person who knows one organisation's password must not get unlimited guesses at another's.
    if (right.length > 0)
      await (areAll && right.length === passwords.length ? endAttempts : revertAttempt)(system, email);
    return right;
  };
  return {
    async signIn(...given) {
      const { email, password } = credentialsOf(...given);
      const { person, passwords } = await database.allTenants(async (em) => {
        const found = await findPerson(em, email);
        return { person: found, passwords: found === null ? [] : await passwordsOf(em, found.id) };
      });
      const right = await verify(email, password, { passwords, areAll: true });
      if (person === null || right.length === 0) throw wrong();
      return database.allTenants(async (em) => {
        // If the password was changed meanwhile, its sessions have ended; no new one may begin with it.
        const held = await holdPasswords(em, person.id, right);
        if (held.length === 0) throw wrong();
        return createSessionFor(em, person.id, reachBy(held.map(({ vouchedBy }) => vouchedBy)));
      });
    },
    signInVerified: (email) =>
      database.allTenants(async (em) => {
        const person = await findPerson(em, email);
        if (person === null) throw new ApiError('forbidden', 'Not a member of any organization');
        await markEmailVerified(em, person.id);
        return createSessionFor(em, person.id, null);
      }),
    session: async (token) =>
      isToken(token) ? await database.allTenants((em) => findSession(em, token)) : null,
    find: (userId, sessionId) =>
      database.allTenants(async (em) => findSignedIn(em, userId, await reachOf(em, sessionId))),
    async signOut(token) {
      if (isToken(token)) await database.allTenants((em) => endSession(em, token));
    },
    async link(token) {
      const { email, expiresAt } = await database.allTenants((em) => readLink(em, token));
      return { email, expiresAt };
    },
    ...passwordChanges(database, verify),
    createLink: (email) =>
      database.allTenants(async (em) => {
        const person = await findPerson(em, email);
        if (person === null) throw notFound('Person not found');
        await markEmailVerified(em, person.id);
        return { ...(await insertLink(em, { userId: person.id, vouchedBy: null })), email: person.email };
      }),
  };
}

/** Changes of passwords. Each hashes before it opens its transaction, and ends the sessions that began with the old password. */
function passwordChanges(
  database: Database,
  verify: Verify,
): Pick<PeopleService, 'setPassword' | 'changePassword'> {
  return {
    async setPassword(token, given) {
      // An invalid password must not use the link up, so it is checked first.
      const beside = await database.allTenants(async (em) => {
        const { userId } = await readLink(em, token);
        return (await passwordsOf(em, userId))[0];
      });
      const stored = await hashPassword(checkPassword(given), beside?.stored);
      return database.allTenants(async (em) => {
        const { userId, vouchedBy } = await consumeLink(em, token);
        await storePassword(em, { userId, vouchedBy }, stored);
        const actor = { kind: 'person', id: userId, name: null } as const;
        await recordCredential(em, { userId, vouchedBy }, { action: 'password_set', actor });
        const reach = reachBy([vouchedBy]);
        await endSessions(em, userId, { reach });
        const entered = await createSessionFor(em, userId, reach);
        const isOnly = (await passwordsOf(em, userId)).length === 1;
        if (isOnly) await endAttempts(sqlOf(em), entered.user.email.toLowerCase());
        return entered;
      });
    },
    async changePassword({ userId, sessionId, currentPassword, newPassword }) {
      const password = checkPassword(newPassword, 'newPassword');
      const { person, reach, all } = await database.allTenants(async (em) => ({
        person: await personById(em, userId),
        reach: await reachOf(em, sessionId),
        all: await passwordsOf(em, userId),
      }));
      const mine = all.filter(({ vouchedBy }) => vouchedBy === null || reach?.includes(vouchedBy) === true);
      const wrongNow = () => invalid('currentPassword is wrong', 'currentPassword');
      const given = currentPassword.slice(0, 4 * MAX_PASSWORD);
      const tried = { passwords: mine, areAll: mine.length === all.length };
      const right = await verify(person.email.toLowerCase(), given, tried);
      if (right.length === 0) throw wrongNow();
      const stored = await hashPassword(password, all[0]?.stored);
      await database.allTenants(async (em) => {
        // If the password was changed by a link meanwhile, the old password must not change it back.
        const held = await holdPasswords(em, userId, right);
        if (held.length < right.length) throw wrongNow();
        for (const { vouchedBy } of held) {
          await storePassword(em, { userId, vouchedBy }, stored);
          await recordCredential(em, { userId, vouchedBy }, { action: 'password_changed' });
        }
        await endSessions(em, userId, {
          reach: reachBy(held.map(({ vouchedBy }) => vouchedBy)),
          except: sessionId,
        });
      });
    },
  };
}
