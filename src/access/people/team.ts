import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { sqlOf } from '../../database/index.js';
import type { Database } from '../../database/index.js';
import { ApiError, notFound } from '../../contract/errors.js';
import type { MemberRole } from '../../contract/words.js';
import { Member } from '../access.entity.js';
import type { MemberRow } from '../access.entity.js';
import type { Principal } from '../access.types.js';
import { checkRank } from '../members.js';
import type { MemberService } from '../members.js';
import { CREDENTIALS_IN, LOCK_CREDENTIALS, LOCK_PERSON } from './credential.queries.js';
import { insertLink } from './links.js';
import type { NewLink } from './people.types.js';

/** A member as the team's list shows them. */
export interface TeamMember {
  userId: string;
  email: string;
  role: MemberRole;
  /** When the person joined the organisation, ISO 8601. */
  createdAt: string;
  /** Whether they have ever signed in. */
  active: boolean;
}

/** How owners and admins manage the members of their organisation (decisions 5). */
export interface TeamService {
  /** In the order in which they joined. */
  list(orgId: string): Promise<TeamMember[]>;
  /**
   * Adds a member. Returns a sign-in link if the person has no password for this organisation and the address is not proven; else null.
   * @throws ApiError forbidden, invalid_request, conflict
   */
  add(
    actor: Principal,
    input: { email: string; role: MemberRole },
  ): Promise<{ member: TeamMember; link: NewLink | null }>;
  /** @throws ApiError forbidden, not_found, invalid_request for the last owner */
  changeRole(actor: Principal, userId: string, role: MemberRole): Promise<TeamMember>;
  /** @throws ApiError as for `changeRole` */
  remove(actor: Principal, userId: string): Promise<void>;
  /**
   * Makes a link by which a member sets a new password for this organisation. If the address is proven, only the operator can make a link,
   * because that link gives access to all of the person's organisations.
   * @throws ApiError forbidden, not_found
   */
  createLink(actor: Principal, userId: string): Promise<NewLink>;
}

/** A member's credential that is valid in an organisation. */
interface Credential {
  user_id: string;
  vouched_by: string | null;
  signed_in_at: Date | null;
  has_password: boolean;
}

async function credentialsIn(
  em: EntityManager,
  orgId: string,
  userIds: string[],
): Promise<Map<string, Credential>> {
  const rows = await sqlOf(em).query<Credential>(CREDENTIALS_IN, [userIds, orgId]);
  return new Map(rows.map((row) => [row.user_id, row]));
}

interface Found {
  member: TeamMember;
  hasPassword: boolean;
}

function toFound({ user, role, createdAt }: MemberRow, credential: Credential | undefined): Found {
  const { id: userId, email } = user;
  const active = credential?.signed_in_at != null;
  return {
    member: { userId, email: email ?? '', role, createdAt: createdAt.toISOString(), active },
    hasPassword: credential?.has_password === true,
  };
}

const roleOf = ({ person }: Principal): MemberRole => person?.role ?? 'viewer';

const memberNotFound = () => notFound('Member not found');

/** The members of an organisation, or one of them, in the order in which they joined. */
async function find(em: EntityManager, where: { orgId: string; user?: string }): Promise<Found[]> {
  const order = { orderBy: { createdAt: 'asc', user: 'asc' }, populate: ['user'] } as const;
  const members = await em.find(Member, where, order);
  const ids = members.map(({ user }) => user.id);
  const credentials = await credentialsIn(em, where.orgId, ids);
  return members.map((member) => toFound(member, credentials.get(member.user.id)));
}

/**
 * Makes a link into the actor's organisation; null if the address is proven. Checks that under locks, so that a transaction that proves the
 * address, or makes the person an owner, either comes first or ends the link.
 */
async function makeLink(em: EntityManager, actor: Principal, userId: string): Promise<NewLink | null> {
  const { orgId } = actor;
  await sqlOf(em).query(LOCK_PERSON, [userId]);
  await sqlOf(em).query(LOCK_CREDENTIALS, [userId]);
  const lockMode = LockMode.PESSIMISTIC_READ;
  const member = await em.findOne(Member, { orgId, user: userId }, { lockMode });
  if (member === null) throw memberNotFound();
  checkRank(roleOf(actor), member.role);
  const credential = (await credentialsIn(em, orgId, [userId])).get(userId);
  return credential?.vouched_by === orgId ? await insertLink(em, { userId, vouchedBy: orgId }) : null;
}

/** @see TeamService */
export function createTeamService(options: { database: Database; members: MemberService }): TeamService {
  const { database, members } = options;
  const get = async (orgId: string, userId: string): Promise<Found> => {
    const [found] = await database.allTenants((em) => find(em, { orgId, user: userId }));
    if (found === undefined) throw memberNotFound();
    return found;
  };
  const link = (actor: Principal, userId: string): Promise<NewLink | null> =>
    database.allTenants((em) => makeLink(em, actor, userId));
  return {
    async list(orgId) {
      const found = await database.allTenants((em) => find(em, { orgId }));
      return found.map(({ member }) => member);
    },
    async add(actor, { email, role }) {
      checkRank(roleOf(actor), role);
      const { userId } = await members.invite(actor.orgId, email, role);
      const { member, hasPassword } = await get(actor.orgId, userId);
      return { member, link: hasPassword ? null : await link(actor, userId) };
    },
    async changeRole(actor, userId, role) {
      await members.changeRole(actor.orgId, userId, { role, actor: roleOf(actor) });
      return (await get(actor.orgId, userId)).member;
    },
    async remove(actor, userId) {
      await members.remove(actor.orgId, userId, roleOf(actor));
    },
    async createLink(actor, userId) {
      const made = await link(actor, userId);
      if (made === null) throw new ApiError('forbidden', 'Only the operator can make this link');
      return made;
    },
  };
}
