import type { Sql, SystemDatabase } from '../../database/index.js';
import { ApiError, invalid, notFound } from '../../errors.js';
import { beginAttempt, endAttempts } from './attempts.js';
import { endLinks, insertLink, readLink, takeLink } from './links.js';
import { checkPassword, hashPassword, isPassword, MAX_PASSWORD } from './passwords.js';
import type { NewSession, PeopleService } from './people.types.js';
import { endSession, endSessions, findSession, findSignedIn, insertSession, isToken } from './sessions.js';

interface Person {
  id: string;
  email: string;
  password_hash: string | null;
  vouched_by: string | null;
}

const SELECT = `SELECT u.id, u.email, c.password_hash, c.vouched_by FROM users u LEFT JOIN credentials c ON c.user_id = u.id
WHERE u.kind = 'person'`;

async function findPerson(sql: Sql, email: string): Promise<Person | null> {
  const [row] = await sql.query<Person>(`${SELECT} AND lower(u.email) = $1`, [email.trim().toLowerCase()]);
  return row ?? null;
}

async function personById(sql: Sql, userId: string): Promise<Person> {
  const [row] = await sql.query<Person>(`${SELECT} AND u.id = $1`, [userId]);
  if (row === undefined) throw notFound('Person not found');
  return row;
}

const wrong = () => new ApiError('unauthorized', 'Invalid email or password');

/** Signs a person in who has shown who they are. @throws ApiError forbidden */
async function enter(sql: Sql, userId: string): Promise<NewSession> {
  const signedIn = await findSignedIn(sql, userId);
  if (signedIn === null || signedIn.organizations.length === 0)
    throw new ApiError('forbidden', 'Not a member of any organization');
  await sql.query(
    `INSERT INTO credentials (user_id, signed_in_at) VALUES ($1, now())
     ON CONFLICT (user_id) DO UPDATE SET signed_in_at = now()`,
    [userId],
  );
  return { ...signedIn, token: await insertSession(sql, userId) };
}

/**
 * Who has a password of their own needs no link any more; who has a link could set another one.
 * @param stored as {@link hashPassword} makes it: that takes too long to hold a transaction open for it
 */
async function storePassword(sql: Sql, userId: string, stored: string): Promise<void> {
  await sql.query(
    `INSERT INTO credentials (user_id, password_hash) VALUES ($1, $2)
     ON CONFLICT (user_id) DO UPDATE SET password_hash = EXCLUDED.password_hash`,
    [userId, stored],
  );
  await endLinks(sql, userId);
}

/** Keeps a password as it is until the transaction's end. False: it was changed since it was read, and all sessions of then were ended. */
async function holdPassword(sql: Sql, { id, password_hash }: Person): Promise<boolean> {
  const still = await sql.query(
    'SELECT 1 FROM credentials WHERE user_id = $1 AND password_hash = $2 FOR UPDATE',
    [id, password_hash],
  );
  return still.length > 0;
}

/**
 * An address that only an organisation had named is from now on its owner's: a password that was set until then may be somebody else's, and
 * goes with its sessions and links.
 */
export async function vouchFor(sql: Sql, userId: string): Promise<void> {
  const rows = await sql.query(
    'UPDATE credentials SET vouched_by = NULL, password_hash = NULL WHERE user_id = $1 AND vouched_by IS NOT NULL RETURNING user_id',
    [userId],
  );
  if (rows.length === 0) return;
  await endLinks(sql, userId);
  await endSessions(sql, userId);
}

/** Texts that can be an address and a password at all; what cannot costs nothing. @throws ApiError unauthorized */
function credentialsOf(email: unknown, password: unknown): { email: string; password: string } {
  if (typeof email !== 'string' || typeof password !== 'string') throw wrong();
  if (email.length > 254 || [...password].length > MAX_PASSWORD) throw wrong();
  return { email: email.trim().toLowerCase(), password };
}

/** @see PeopleService */
export function createPeopleService({ database }: { database: SystemDatabase }): PeopleService {
  const { system } = database;
  /** Whether it is the password of a person, or of nobody. @throws ApiError rate_limited */
  const verify = async (email: string, password: string, stored: string | null): Promise<boolean> => {
    await beginAttempt(system, email);
    const isRight = await isPassword(password, stored);
    if (isRight) await endAttempts(system, email);
    return isRight;
  };
  return {
    async signIn(...given) {
      const { email, password } = credentialsOf(...given);
      const person = await findPerson(system, email);
      const isRight = await verify(email, password, person?.password_hash ?? null);
      if (person === null || !isRight) throw wrong();
      return database.transaction(async (sql) => {
        // Whoever changed it meanwhile ended all sessions: none begins behind that.
        if (!(await holdPassword(sql, person))) throw wrong();
        return enter(sql, person.id);
      });
    },
    signInVerified: (email) =>
      database.transaction(async (sql) => {
        const person = await findPerson(sql, email);
        if (person === null) throw new ApiError('forbidden', 'Not a member of any organization');
        await vouchFor(sql, person.id);
        return enter(sql, person.id);
      }),
    session: async (token) => (isToken(token) ? findSession(system, token) : null),
    find: (userId) => findSignedIn(system, userId),
    async signOut(token) {
      if (isToken(token)) await database.transaction((sql) => endSession(sql, token));
    },
    link: (token) => readLink(system, token),
    ...passwordChanges(database, verify),
    createLink: (email) =>
      database.transaction(async (sql) => {
        const person = await findPerson(sql, email);
        if (person === null) throw notFound('Person not found');
        await vouchFor(sql, person.id);
        return { ...(await insertLink(sql, person.id)), email: person.email };
      }),
  };
}

/** Each hashes before it opens its transaction, and ends the sessions of whoever knew the old password. */
function passwordChanges(
  database: SystemDatabase,
  verify: (email: string, password: string, stored: string | null) => Promise<boolean>,
): Pick<PeopleService, 'setPassword' | 'changePassword'> {
  const { system } = database;
  return {
    async setPassword(token, given) {
      // A password that will not do must not use the link up.
      await readLink(system, token);
      const stored = await hashPassword(checkPassword(given));
      return database.transaction(async (sql) => {
        const userId = await takeLink(sql, token);
        await storePassword(sql, userId, stored);
        await endSessions(sql, userId);
        const entered = await enter(sql, userId);
        await endAttempts(sql, entered.user.email.toLowerCase());
        return entered;
      });
    },
    async changePassword({ userId, sessionId, currentPassword, newPassword }) {
      const password = checkPassword(newPassword, 'newPassword');
      const person = await personById(system, userId);
      const wrongNow = () => invalid('currentPassword is wrong', 'currentPassword');
      const given = currentPassword.slice(0, 4 * MAX_PASSWORD);
      if (!(await verify(person.email.toLowerCase(), given, person.password_hash))) throw wrongNow();
      const stored = await hashPassword(password);
      await database.transaction(async (sql) => {
        // Who set another one by a link meanwhile did so against whoever knows the old one.
        if (!(await holdPassword(sql, person))) throw wrongNow();
        await storePassword(sql, userId, stored);
        await endSessions(sql, userId, sessionId);
      });
    },
  };
}
