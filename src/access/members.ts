import type { EntityManager } from '@mikro-orm/postgresql';
import { recordChange } from '../audit/index.js';
import type { AuditAction } from '../audit/index.js';
import { sqlOf } from '../database/index.js';
import type { Database } from '../database/index.js';
import { ApiError, invalid, notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { MEMBER_ROLES } from '../contract/words.js';
import type { MemberRole } from '../contract/words.js';
import { Member } from './access.entity.js';
import type { MemberRow } from './access.entity.js';
import { EMIT_NEW, LOCK, NOTIFY_CHANGED } from './organization.queries.js';
import {
  INSERT_CREDENTIAL,
  INSERT_PERSON,
  INSERT_UNPROVEN,
  LOCK_ADDRESS,
} from './people/credential.queries.js';
import { endLinks } from './people/links.js';
import { findPerson, markEmailVerified } from './people/people.service.js';
import { endSessionsIn } from './people/sessions.js';

export interface MemberView {
  userId: string;
  email: string;
  role: MemberRole;
  /** Set only in the answer to a change of role. */
  previousRole?: MemberRole;
}

/** The members of an organisation. Each change emits a `team.member.*` event in the same transaction. */
export interface MemberService {
  /**
   * Adds a member on behalf of the operator, who vouches for the email address. A person who is new to the installation gets a user.
   * @throws ApiError invalid_request, conflict, not_found
   */
  add(orgId: string, email: string, role: MemberRole): Promise<MemberView>;
  /**
   * Adds a member on behalf of the organisation, which vouches for the email address within itself only. If another organisation vouched for the
   * same address, its credentials give no access here, because that account may belong to somebody else.
   * @throws ApiError invalid_request, conflict, not_found
   */
  invite(orgId: string, email: string, role: MemberRole): Promise<MemberView>;
  /**
   * The person stays a user; their sessions lose the organisation.
   * @param who the person's email address or id
   * @param actor the caller's role; absent for the operator. Only owners change owners
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

/** The organisation that vouches for an email address; null: the operator. */
type VouchedBy = string | null;

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

/** A user id unchanged, or an email address as it is stored. @throws ApiError invalid_request */
const checkWho = (who: string): string => (USER_ID.test(who) ? who : checkEmail(who));

/** An admin may change every member except owners. @throws ApiError forbidden */
export function checkRank(actor: MemberRole | undefined, ...roles: MemberRole[]): void {
  if (actor === undefined || actor === 'owner') return;
  if (actor !== 'admin' || roles.includes('owner'))
    throw new ApiError('forbidden', `Role ${actor} may not do this`);
}

interface MemberChange {
  type: MemberEvent;
  member: MemberView;
}

const RECORDED: Record<MemberEvent, AuditAction> = {
  'team.member.added': 'member_added',
  'team.member.removed': 'member_removed',
  'team.member.role_changed': 'member_role_changed',
};

/** Tells webhooks, and the audit log. */
async function emit(em: EntityManager, orgId: string, { type, member }: MemberChange): Promise<void> {
  const { userId, email, role, previousRole } = member;
  await recordChange(em, {
    orgId,
    action: RECORDED[type],
    subject: { id: userId, name: email },
    ...(type === 'team.member.added' ? {} : { before: { role: previousRole ?? role } }),
    ...(type === 'team.member.removed' ? {} : { after: { role } }),
  });
  await sqlOf(em).query(EMIT_NEW, [type, orgId, JSON.stringify(member)]);
}

/** Changes of one organisation's members run one after the other, so that the last owner cannot be removed. @throws ApiError not_found */
async function lock(em: EntityManager, orgId: string): Promise<void> {
  const rows = await sqlOf(em).query(LOCK, [orgId]);
  if (rows.length === 0) throw notFound('Organization not found');
}

const toView = ({ user, role }: MemberRow): MemberView => ({
  userId: user.id,
  email: user.email ?? '',
  role,
});

/** @param who an email address as it is stored, or a user id */
async function find(em: EntityManager, orgId: string, who: string): Promise<MemberRow | null> {
  const user = USER_ID.test(who) ? who : (await findPerson(em, who))?.id;
  if (user === undefined) return null;
  return await em.findOne(Member, { orgId, user }, { populate: ['user'] });
}

/** @throws ApiError not_found */
async function get(em: EntityManager, orgId: string, who: string): Promise<MemberRow> {
  const member = await find(em, orgId, who);
  if (member === null) throw notFound('Member not found');
  return member;
}

/** Refuses to remove the last owner. Call it under the organisation's lock. @throws ApiError invalid_request */
async function keepAnOwner(em: EntityManager, { orgId, user, role }: MemberRow): Promise<void> {
  if (role !== 'owner') return;
  const others = await em.count(Member, { orgId, role: 'owner', user: { $ne: user.id } });
  if (others === 0) throw invalid('The last owner cannot be removed or changed', 'email');
}

const rankOf = (role: MemberRole | undefined): number => MEMBER_ROLES.findIndex((known) => known === role);

/**
 * Makes sessions use the new role. With a lower role, the session's keys in this organisation end, so that no running request goes on with the
 * old role; the next request makes a new key. If the person becomes an owner, sign-in links that an admin made for them end.
 */
async function settleRole(
  em: EntityManager,
  orgId: string,
  { userId, role, previousRole }: MemberView,
): Promise<void> {
  await sqlOf(em).query(NOTIFY_CHANGED, [orgId]);
  if (rankOf(role) > rankOf(previousRole)) await endSessionsIn(em, orgId, userId);
  if (role === 'owner') await endLinks(em, { userId, vouchedBy: orgId });
}

/** Finds the person with an email address, or makes one, and records who vouches for the address. @returns the person's id */
async function ensurePerson(em: EntityManager, email: string, vouchedBy: VouchedBy): Promise<string> {
  const sql = sqlOf(em);
  const [made] = await sql.query<{ id: string }>(INSERT_PERSON, [newId('usr'), email]);
  if (made !== undefined) {
    await sql.query(INSERT_CREDENTIAL, [made.id, vouchedBy]);
    return made.id;
  }
  const [user] = await sql.query<{ id: string }>(LOCK_ADDRESS, [email]);
  if (user === undefined) throw new Error('a user that was just written is not there');
  if (vouchedBy === null) await markEmailVerified(em, user.id);
  // Credentials of other organisations for this address give no access here, and ours none there. A proven address needs no entry.
  else await sql.query(INSERT_UNPROVEN, [user.id, vouchedBy]);
  return user.id;
}

interface Addition {
  email: string;
  role: MemberRole;
  vouchedBy: VouchedBy;
}

/** What `add` does, for use inside a transaction. @throws ApiError conflict */
export async function insertMember(
  em: EntityManager,
  orgId: string,
  { email, role, vouchedBy }: Addition,
): Promise<MemberView> {
  if ((await find(em, orgId, email)) !== null)
    throw new ApiError('conflict', 'Already a member', { param: 'email' });
  const userId = await ensurePerson(em, email, vouchedBy);
  em.create(Member, { orgId, user: userId, role });
  await em.flush();
  const member = { userId, email, role };
  await emit(em, orgId, { type: 'team.member.added', member });
  return member;
}

/** @see MemberService */
export function createMemberService({ database }: { database: Database }): MemberService {
  const change = <T>(orgId: string, work: (em: EntityManager) => Promise<T>): Promise<T> =>
    database.allTenants(async (em) => {
      await lock(em, orgId);
      return await work(em);
    });
  const join = async (
    orgId: string,
    { address, requested, vouchedBy }: { address: string; requested: string; vouchedBy: VouchedBy },
  ) => {
    const [email, role] = [checkEmail(address), checkRole(requested)];
    return change(orgId, (em) => insertMember(em, orgId, { email, role, vouchedBy }));
  };
  return {
    add: (orgId, address, requested) => join(orgId, { address, requested, vouchedBy: null }),
    invite: (orgId, address, requested) => join(orgId, { address, requested, vouchedBy: orgId }),
    async remove(orgId, address, actor) {
      const who = checkWho(address);
      return await change(orgId, async (em) => {
        const member = await get(em, orgId, who);
        checkRank(actor, member.role);
        await keepAnOwner(em, member);
        const view = toView(member);
        em.remove(member);
        await em.flush();
        await endSessionsIn(em, orgId, view.userId);
        await emit(em, orgId, { type: 'team.member.removed', member: view });
        return view;
      });
    },
    async changeRole(orgId, address, { role: requested, actor }) {
      const [who, role] = [checkWho(address), checkRole(requested)];
      return await change(orgId, async (em) => {
        const member = await get(em, orgId, who);
        const before = toView(member);
        checkRank(actor, before.role, role);
        if (before.role === role) return before;
        await keepAnOwner(em, member);
        member.role = role;
        await em.flush();
        const after = { ...before, role, previousRole: before.role };
        await emit(em, orgId, { type: 'team.member.role_changed', member: after });
        await settleRole(em, orgId, after);
        return after;
      });
    },
    list: (orgId) =>
      database.tenant(orgId, async (em) => {
        const order = { orderBy: { createdAt: 'asc', user: 'asc' }, populate: ['user'] } as const;
        return (await em.find(Member, { orgId }, order)).map(toView);
      }),
  };
}
