import { LockMode, raw } from '@mikro-orm/postgresql';
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import { toPage } from '../../collections/page.js';
import type { Page, PageQuery } from '../../collections/page.js';
import { sqlOf } from '../../database/index.js';
import type { Database } from '../../database/index.js';
import { ApiError, invalid, notFound } from '../../contract/errors.js';
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
  /** In the order in which they joined. @throws ApiError invalid_request for a cursor that is none */
  page(orgId: string, query: PageQuery): Promise<Page<TeamMember> & { cursors: string[] }>;
  /** @throws ApiError not_found */
  get(orgId: string, userId: string): Promise<TeamMember>;
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
  /** Answers the member as they were; null where they joined just now. @throws ApiError as for `changeRole` */
  remove(actor: Principal, userId: string): Promise<TeamMember | null>;
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

async function withCredentials(em: EntityManager, orgId: string, members: MemberRow[]): Promise<Found[]> {
  const ids = members.map(({ user }) => user.id);
  const credentials = await credentialsIn(em, orgId, ids);
  return members.map((member) => toFound(member, credentials.get(member.user.id)));
}

async function find(em: EntityManager, orgId: string, user: string): Promise<Found | undefined> {
  const members = await em.find(Member, { orgId, user }, { populate: ['user'] });
  return (await withCredentials(em, orgId, members))[0];
}

/** A place in the list: when a member joined, in milliseconds, and who. It holds when the member is gone. */
const cursorOf = ({ createdAt, userId }: TeamMember): string => `${Date.parse(createdAt)}.${userId}`;

const joined = () => raw((alias) => `date_trunc('milliseconds', ${alias}.created_at)`);

/** The members after a place, or before it. @throws ApiError invalid_request */
function beyond(cursor: string | undefined, side: '$gt' | '$lt', param: string): FilterQuery<MemberRow>[] {
  if (cursor === undefined) return [];
  const [, time, user] = /^(\d{1,15})\.(usr_[\w-]{1,100})$/.exec(cursor) ?? [];
  if (time === undefined || user === undefined) throw invalid('Invalid cursor', param);
  const at = new Date(Number(time));
  return [{ $or: [{ [joined()]: { [side]: at } }, { [joined()]: at, user: { [side]: user } }] }];
}

/** In the order in which they joined, one more than the page has. */
async function findPage(em: EntityManager, orgId: string, page: PageQuery): Promise<TeamMember[]> {
  const { first, after, before, backwards = false } = page;
  const bounds = [...beyond(after, '$gt', 'after'), ...beyond(before, '$lt', 'before')];
  const order = backwards ? 'desc' : 'asc';
  const members = await em.find(
    Member,
    { $and: [{ orgId }, ...bounds] },
    { orderBy: [{ [joined()]: order }, { user: order }], limit: first + 1, populate: ['user'] },
  );
  return (await withCredentials(em, orgId, members)).map(({ member }) => member);
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
    const found = await database.allTenants((em) => find(em, orgId, userId));
    if (found === undefined) throw memberNotFound();
    return found;
  };
  const link = (actor: Principal, userId: string): Promise<NewLink | null> =>
    database.allTenants((em) => makeLink(em, actor, userId));
  return {
    async page(orgId, query) {
      const found = await database.allTenants((em) => findPage(em, orgId, query));
      const page = toPage(found, query, cursorOf);
      return {
        ...page,
        cursors: page.nodes.map(cursorOf),
        count: () => database.allTenants((em) => em.count(Member, { orgId })),
      };
    },
    get: async (orgId, userId) => (await get(orgId, userId)).member,
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
      const found = await database.allTenants((em) => find(em, actor.orgId, userId));
      await members.remove(actor.orgId, userId, roleOf(actor));
      return found?.member ?? null;
    },
    async createLink(actor, userId) {
      const made = await link(actor, userId);
      if (made === null) throw new ApiError('forbidden', 'Only the operator can make this link');
      return made;
    },
  };
}
