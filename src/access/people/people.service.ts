import type { Sql, SystemDatabase } from '../../database/index.js';
import { ApiError, invalid, notFound } from '../../contract/errors.js';
import { beginAttempt, endAttempts, takeBackAttempt } from './attempts.js';
import { endLinks, insertLink, readLink, takeLink } from './links.js';
import type { Voucher } from './links.js';
import { checkPassword, hashPassword, matchPassword, MAX_PASSWORD } from './passwords.js';
import type { NewSession, PeopleService } from './people.types.js';
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

/** A password of a person, and who vouches for whoever set it. */
interface Password {
  stored: string;
  voucher: string | null;
}

const SELECT = `SELECT id, email FROM users WHERE kind = 'person'`;

async function findPerson(sql: Sql, email: string): Promise<Person | null> {
  const [row] = await sql.query<Person>(`${SELECT} AND lower(email) = $1`, [email.trim().toLowerCase()]);
  return row ?? null;
}

async function personById(sql: Sql, userId: string): Promise<Person> {
  const [row] = await sql.query<Person>(`${SELECT} AND id = $1`, [userId]);
  if (row === undefined) throw notFound('Person not found');
  return row;
}

/** One for each organisation that vouches for the address, until it is proven: then there is one at most. */
async function passwordsOf(sql: Sql, userId: string): Promise<Password[]> {
  return await sql.query<Password>(
    `SELECT password_hash AS stored, vouched_by AS voucher FROM credentials
     WHERE user_id = $1 AND password_hash IS NOT NULL ORDER BY vouched_by`,
    [userId],
  );
}

const reachBy = (vouchers: readonly (string | null)[]): Reach =>
  vouchers.includes(null) ? null : vouchers.filter((voucher) => voucher !== null);

const wrong = () => new ApiError('unauthorized', 'Invalid email or password');

/** Signs a person in who has shown who they are, as far as that reaches. @throws ApiError forbidden */
async function enter(sql: Sql, userId: string, reach: Reach): Promise<NewSession> {
  const signedIn = await findSignedIn(sql, userId, reach);
  if (signedIn === null || signedIn.organizations.length === 0)
    throw new ApiError('forbidden', 'Not a member of any organization');
  await sql.query(
    `INSERT INTO credentials (user_id, vouched_by, signed_in_at)
     SELECT $1, voucher, now() FROM unnest(COALESCE($2::text[], ARRAY[NULL])) voucher ORDER BY voucher
     ON CONFLICT (user_id, (COALESCE(vouched_by, ''))) DO UPDATE SET signed_in_at = now()`,
    [userId, reach],
  );
  return { ...signedIn, token: await insertSession(sql, userId, reach) };
}

/**
 * Who has a password of their own needs no link any more; who has a link could set another one.
 * @param stored as {@link hashPassword} makes it: that takes too long to hold a transaction open for it
 */
async function storePassword(sql: Sql, { userId, voucher }: Voucher, stored: string): Promise<void> {
  await sql.query(
    `INSERT INTO credentials (user_id, vouched_by, password_hash) VALUES ($1, $2, $3)
     ON CONFLICT (user_id, (COALESCE(vouched_by, ''))) DO UPDATE SET password_hash = EXCLUDED.password_hash`,
    [userId, voucher, stored],
  );
  await endLinks(sql, { userId, voucher });
}

/** Keeps passwords as they are until the transaction's end. Those that are left: others were changed since they were read, and their sessions ended. */
async function holdPasswords(sql: Sql, userId: string, passwords: Password[]): Promise<Password[]> {
  const held: Password[] = [];
  for (const password of passwords) {
    const still = await sql.query(
      `SELECT 1 FROM credentials WHERE user_id = $1 AND vouched_by IS NOT DISTINCT FROM $2 AND password_hash = $3 FOR UPDATE`,
      [userId, password.voucher, password.stored],
    );
    if (still.length > 0) held.push(password);
  }
  return held;
}

/**
 * An address that only organisations had named is from now on its owner's: passwords that were set until then may be somebody else's, and
 * go with their sessions and links.
 */
export async function vouchFor(sql: Sql, userId: string): Promise<void> {
  await sql.query('SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
  const [gone] = await sql.query<{ n: number; signed_in_at: Date | null }>(
    `WITH gone AS (DELETE FROM credentials WHERE user_id = $1 AND vouched_by IS NOT NULL RETURNING signed_in_at)
     SELECT count(*)::int AS n, max(signed_in_at) AS signed_in_at FROM gone`,
    [userId],
  );
  if (gone === undefined || gone.n === 0) return;
  await sql.query('INSERT INTO credentials (user_id, signed_in_at) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    userId,
    gone.signed_in_at,
  ]);
  await sql.query('DELETE FROM sign_in_links WHERE user_id = $1', [userId]);
  await endSessions(sql, userId);
}

/** Texts that can be an address and a password at all; what cannot costs nothing. @throws ApiError unauthorized */
function credentialsOf(email: unknown, password: unknown): { email: string; password: string } {
  if (typeof email !== 'string' || typeof password !== 'string') throw wrong();
  if (email.length > 254 || [...password].length > MAX_PASSWORD) throw wrong();
  return { email: email.trim().toLowerCase(), password };
}

/** Which of some passwords it is. @throws ApiError rate_limited */
type Verify = (
  email: string,
  password: string,
  tried: { passwords: Password[]; areAll: boolean },
) => Promise<Password[]>;

/** @see PeopleService */
export function createPeopleService({ database }: { database: SystemDatabase }): PeopleService {
  const { system } = database;
  const verify: Verify = async (email, password, { passwords, areAll }) => {
    await beginAttempt(system, email);
    const right = await matchPassword(password, passwords);
    // Whoever knows one organisation's password for an address must not guess at another's for ever.
    if (right.length > 0)
      await (areAll && right.length === passwords.length ? endAttempts : takeBackAttempt)(system, email);
    return right;
  };
  return {
    async signIn(...given) {
      const { email, password } = credentialsOf(...given);
      const person = await findPerson(system, email);
      const passwords = person === null ? [] : await passwordsOf(system, person.id);
      const right = await verify(email, password, { passwords, areAll: true });
      if (person === null || right.length === 0) throw wrong();
      return database.transaction(async (sql) => {
        // Whoever changed it meanwhile ended its sessions: none begins behind that.
        const held = await holdPasswords(sql, person.id, right);
        if (held.length === 0) throw wrong();
        return enter(sql, person.id, reachBy(held.map(({ voucher }) => voucher)));
      });
    },
    signInVerified: (email) =>
      database.transaction(async (sql) => {
        const person = await findPerson(sql, email);
        if (person === null) throw new ApiError('forbidden', 'Not a member of any organization');
        await vouchFor(sql, person.id);
        return enter(sql, person.id, null);
      }),
    session: async (token) => (isToken(token) ? findSession(system, token) : null),
    find: async (userId, sessionId) => findSignedIn(system, userId, await reachOf(system, sessionId)),
    async signOut(token) {
      if (isToken(token)) await database.transaction((sql) => endSession(sql, token));
    },
    async link(token) {
      const { email, expiresAt } = await readLink(system, token);
      return { email, expiresAt };
    },
    ...passwordChanges(database, verify),
    createLink: (email) =>
      database.transaction(async (sql) => {
        const person = await findPerson(sql, email);
        if (person === null) throw notFound('Person not found');
        await vouchFor(sql, person.id);
        return { ...(await insertLink(sql, { userId: person.id, voucher: null })), email: person.email };
      }),
  };
}

/** Each hashes before it opens its transaction, and ends the sessions of whoever knew the old password. */
function passwordChanges(
  database: SystemDatabase,
  verify: Verify,
): Pick<PeopleService, 'setPassword' | 'changePassword'> {
  const { system } = database;
  return {
    async setPassword(token, given) {
      // A password that will not do must not use the link up.
      const { userId: reader } = await readLink(system, token);
      const [beside] = await passwordsOf(system, reader);
      const stored = await hashPassword(checkPassword(given), beside?.stored);
      return database.transaction(async (sql) => {
        const { userId, voucher } = await takeLink(sql, token);
        await storePassword(sql, { userId, voucher }, stored);
        const reach = reachBy([voucher]);
        await endSessions(sql, userId, { reach });
        const entered = await enter(sql, userId, reach);
        const isOnly = (await passwordsOf(sql, userId)).length === 1;
        if (isOnly) await endAttempts(sql, entered.user.email.toLowerCase());
        return entered;
      });
    },
    async changePassword({ userId, sessionId, currentPassword, newPassword }) {
      const password = checkPassword(newPassword, 'newPassword');
      const person = await personById(system, userId);
      const reach = await reachOf(system, sessionId);
      const all = await passwordsOf(system, userId);
      const mine = all.filter(({ voucher }) => voucher === null || reach?.includes(voucher) === true);
      const wrongNow = () => invalid('currentPassword is wrong', 'currentPassword');
      const given = currentPassword.slice(0, 4 * MAX_PASSWORD);
      const tried = { passwords: mine, areAll: mine.length === all.length };
      const right = await verify(person.email.toLowerCase(), given, tried);
      if (right.length === 0) throw wrongNow();
      const stored = await hashPassword(password, all[0]?.stored);
      await database.transaction(async (sql) => {
        // Who set another one by a link meanwhile did so against whoever knows the old one.
        const held = await holdPasswords(sql, userId, right);
        if (held.length < right.length) throw wrongNow();
        for (const { voucher } of held) await storePassword(sql, { userId, voucher }, stored);
        await endSessions(sql, userId, {
          reach: reachBy(held.map(({ voucher }) => voucher)),
          except: sessionId,
        });
      });
    },
  };
}
