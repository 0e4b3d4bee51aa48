import type { Sql, SystemDatabase } from '../database/index.js';
import { ApiError, invalid, notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { MEMBER_ROLES } from '../contract/words.js';
import type { MemberRole } from '../contract/words.js';
import { vouchFor } from './people/people.service.js';
import { endSessionsIn } from './people/sessions.js';

export interface MemberView {
  userId: string;
  email: string;
  role: MemberRole;
  /** Only in the answer to a change of role. */
  previousRole?: MemberRole;
}

/** Who belongs to an organisation. Each change emits its `team.member.*` event in its own transaction. */
export interface MemberService {
  /**
   * By the operator, who vouches for the address. A person who is new to the installation gets a user.
   * @throws ApiError invalid_request, conflict, not_found
   */
  add(orgId: string, email: string, role: MemberRole): Promise<MemberView>;
  /**
   * By the organisation itself, which vouches for the address as far as itself. Whoever has an account by another organisation's word need not be
   * who is meant: that account does not reach here.
   * @throws ApiError invalid_request, conflict, not_found
   */
  invite(orgId: string, email: string, role: MemberRole): Promise<MemberView>;
  /**
   * The person stays a user; what their sessions have in the organisation ends.
   * @param who the person's address or id
   * @param actor who asks, where it is not the operator: only owners change owners
   * @throws ApiError not_found, forbidden, invalid_request for the last owner
   */
  remove(orgId: string, who: string, actor?: MemberRole): Promise<MemberView>;
  /** The same role again changes nothing. @throws ApiError as for `remove` */
  changeRole(orgId: string, who: string, change: RoleChange): Promise<MemberView>;
  list(orgId: string): Promise<MemberView[]>;
}

/** @see MemberService.changeRole */
export interface RoleChange {
  role: MemberRole;
  actor?: MemberRole;
}

/** Who says that an address is that person's: the operator, or an organisation. */
type Voucher = string | null;

type MemberEvent = 'team.member.added' | 'team.member.removed' | 'team.member.role_changed';

const MAX_EMAIL = 254;
const EMAIL = /^[^\s@\p{C}]+@[^\s@\p{C}.]+(?:\.[^\s@\p{C}.]+)+$/u;

/** @throws ApiError invalid_request */
function checkEmail(value: string): string {
  const email = value.trim().toLowerCase();
  if (email.length > MAX_EMAIL || !EMAIL.test(email)) throw invalid('Invalid email', 'email');
  return email;
}

/** @throws ApiError invalid_request */
function checkRole(role: string): MemberRole {
  const known = MEMBER_ROLES.find((candidate) => candidate === role);
  if (known === undefined) throw invalid(`role must be one of ${MEMBER_ROLES.join(', ')}`, 'role');
  return known;
}

const USER_ID = /^usr_[^@]*$/;

/** An id as it is, an address as it is stored. @throws ApiError invalid_request */
const checkWho = (who: string): string => (USER_ID.test(who) ? who : checkEmail(who));

/** An admin runs the team below the owners. @throws ApiError forbidden */
export function checkRank(actor: MemberRole | undefined, ...roles: MemberRole[]): void {
  if (actor === undefined || actor === 'owner') return;
  if (actor !== 'admin' || roles.includes('owner'))
    throw new ApiError('forbidden', `Role ${actor} may not do this`);
}

interface MemberChange {
  type: MemberEvent;
  member: MemberView;
}

async function emit(sql: Sql, orgId: string, { type, member }: MemberChange): Promise<void> {
  await sql.query(`SELECT penstock_emit('events', $2, penstock_event($1, $2, $3::jsonb))`, [
    type,
    orgId,
    JSON.stringify(member),
  ]);
}

/** Changes of one organisation's members wait for each other, so that the last owner stays. @throws ApiError not_found */
async function lock(sql: Sql, orgId: string): Promise<void> {
  const rows = await sql.query('SELECT id FROM organizations WHERE id = $1 FOR NO KEY UPDATE', [orgId]);
  if (rows.length === 0) throw notFound('Organization not found');
}

const SELECT = `SELECT m.user_id AS "userId", u.email, m.role FROM members m JOIN users u ON u.id = m.user_id WHERE m.org_id = $1`;

async function find(sql: Sql, orgId: string, who: string): Promise<MemberView | null> {
  const [row] = await sql.query<MemberView>(`${SELECT} AND (lower(u.email) = $2 OR u.id = $2)`, [orgId, who]);
  return row ?? null;
}

async function get(sql: Sql, orgId: string, who: string): Promise<MemberView> {
  const member = await find(sql, orgId, who);
  if (member === null) throw notFound('Member not found');
  return member;
}

async function keepAnOwner(sql: Sql, orgId: string, member: MemberView): Promise<void> {
  if (member.role !== 'owner') return;
  const others = await sql.query(`${SELECT} AND m.role = 'owner' AND m.user_id <> $2`, [
    orgId,
    member.userId,
  ]);
  if (others.length === 0) throw invalid('The last owner cannot be removed or changed', 'email');
}

const rankOf = (role: MemberRole | undefined): number => MEMBER_ROLES.findIndex((known) => known === role);

/**
 * Their sessions are read again with the new role. Of a lesser one none goes on with what it was before, a request whose body is still to come included:
 * its keys here end, and the next request makes another. Who becomes an owner is nobody's whom an admin made a link for before.
 */
async function settleRole(
  sql: Sql,
  orgId: string,
  { userId, role, previousRole }: MemberView,
): Promise<void> {
  await sql.query(`SELECT pg_notify('penstock_org_changed', $1)`, [orgId]);
  if (rankOf(role) > rankOf(previousRole)) await endSessionsIn(sql, orgId, userId);
  if (role !== 'owner') return;
  await sql.query('DELETE FROM sign_in_links WHERE user_id = $1 AND vouched_by = $2', [userId, orgId]);
}

async function ensureUser(sql: Sql, email: string, voucher: Voucher): Promise<string> {
  const made = await sql.query<{ id: string }>(
    `INSERT INTO users (id, email, kind) VALUES ($1, $2, 'person') ON CONFLICT (lower(email)) DO NOTHING RETURNING id`,
    [newId('usr'), email],
  );
  if (made[0] !== undefined) {
    await sql.query('INSERT INTO credentials (user_id, vouched_by) VALUES ($1, $2)', [made[0].id, voucher]);
    return made[0].id;
  }
  const [user] = await sql.query<{ id: string }>(
    'SELECT id FROM users WHERE lower(email) = $1 FOR NO KEY UPDATE',
    [email],
  );
  if (user === undefined) throw new Error('a user that was just written is not there');
  if (voucher === null) await vouchFor(sql, user.id);
  // Whoever named the address before has nothing of this organisation, nor it of theirs. What is proven needs no word of ours.
  else
    await sql.query(
      `INSERT INTO credentials (user_id, vouched_by)
       SELECT $1, $2 WHERE EXISTS (SELECT 1 FROM credentials WHERE user_id = $1 AND vouched_by IS NOT NULL)
       ON CONFLICT DO NOTHING`,
      [user.id, voucher],
    );
  return user.id;
}

interface Addition {
  email: string;
  role: MemberRole;
  voucher: Voucher;
}

/** The statement behind `add`, for use inside a transaction. @throws ApiError conflict */
export async function insertMember(
  sql: Sql,
  orgId: string,
  { email, role, voucher }: Addition,
): Promise<MemberView> {
  if ((await find(sql, orgId, email)) !== null)
    throw new ApiError('conflict', 'Already a member', { param: 'email' });
  const member = { userId: await ensureUser(sql, email, voucher), email, role };
  await sql.query('INSERT INTO members (org_id, user_id, role) VALUES ($1, $2, $3)', [
    orgId,
    member.userId,
    role,
  ]);
  await emit(sql, orgId, { type: 'team.member.added', member });
  return member;
}

export function createMemberService({ database }: { database: SystemDatabase }): MemberService {
  const change = <T>(orgId: string, work: (sql: Sql) => Promise<T>): Promise<T> =>
    database.transaction(async (sql) => {
      await lock(sql, orgId);
      return await work(sql);
    });
  const join = async (
    orgId: string,
    { address, asked, voucher }: { address: string; asked: string; voucher: Voucher },
  ) => {
    const [email, role] = [checkEmail(address), checkRole(asked)];
    return change(orgId, (sql) => insertMember(sql, orgId, { email, role, voucher }));
  };
  return {
    add: (orgId, address, asked) => join(orgId, { address, asked, voucher: null }),
    invite: (orgId, address, asked) => join(orgId, { address, asked, voucher: orgId }),
    async remove(orgId, address, actor) {
      const who = checkWho(address);
      return await change(orgId, async (sql) => {
        const member = await get(sql, orgId, who);
        checkRank(actor, member.role);
        await keepAnOwner(sql, orgId, member);
        await sql.query('DELETE FROM members WHERE org_id = $1 AND user_id = $2', [orgId, member.userId]);
        await endSessionsIn(sql, orgId, member.userId);
        await emit(sql, orgId, { type: 'team.member.removed', member });
        return member;
      });
    },
    async changeRole(orgId, address, { role: asked, actor }) {
      const [who, role] = [checkWho(address), checkRole(asked)];
      return await change(orgId, async (sql) => {
        const before = await get(sql, orgId, who);
        checkRank(actor, before.role, role);
        if (before.role === role) return before;
        await keepAnOwner(sql, orgId, before);
        await sql.query('UPDATE members SET role = $3 WHERE org_id = $1 AND user_id = $2', [
          orgId,
          before.userId,
          role,
        ]);
        const member = { ...before, role, previousRole: before.role };
        await emit(sql, orgId, { type: 'team.member.role_changed', member });
        await settleRole(sql, orgId, member);
        return member;
      });
    },
    list: (orgId) => database.system.query<MemberView>(`${SELECT} ORDER BY m.created_at, m.user_id`, [orgId]),
  };
}
