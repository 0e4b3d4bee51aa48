import type { Sql, SystemDatabase } from '../../database/index.js';
import { ApiError, notFound } from '../../errors.js';
import type { MemberRole } from '../../vocabulary.js';
import type { Principal } from '../access.types.js';
import { checkRank } from '../members.js';
import type { MemberService } from '../members.js';
import { insertLink } from './links.js';
import type { NewLink } from './people.types.js';

/** A member as the team sees them. */
export interface TeamMember {
  userId: string;
  email: string;
  role: MemberRole;
  /** Since when they belong to the organisation, ISO 8601. */
  createdAt: string;
  /** Whether they have ever signed in. */
  active: boolean;
}

/** What owners and admins do with the members of their own organisation (decisions 5). */
export interface TeamService {
  /** In the order in which they joined. */
  list(orgId: string): Promise<TeamMember[]>;
  /**
   * The link is for who has no password yet, and whose address nobody but this organisation named; else null.
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
   * A link by which a member chooses a new password. Whose address others vouch for gets theirs from the operator: who has this link has the
   * account, in every organisation.
   * @throws ApiError forbidden, not_found
   */
  createLink(actor: Principal, userId: string): Promise<NewLink>;
}

interface Row {
  user_id: string;
  email: string;
  role: MemberRole;
  created_at: Date;
  signed_in_at: Date | null;
  has_password: boolean;
  vouched_by: string | null;
}

const SELECT = `SELECT m.user_id, u.email, m.role, m.created_at, c.signed_in_at, c.password_hash IS NOT NULL AS has_password, c.vouched_by
FROM members m JOIN users u ON u.id = m.user_id LEFT JOIN credentials c ON c.user_id = m.user_id WHERE m.org_id = $1`;

const toMember = (row: Row): TeamMember => ({
  userId: row.user_id,
  email: row.email,
  role: row.role,
  createdAt: row.created_at.toISOString(),
  active: row.signed_in_at !== null,
});

const roleOf = ({ person }: Principal): MemberRole => person?.role ?? 'viewer';

interface Sought {
  orgId: string;
  userId: string;
  lock?: 'FOR SHARE OF m';
}

/** @throws ApiError not_found */
async function find(sql: Sql, { orgId, userId, lock }: Sought): Promise<Row> {
  const [row] = await sql.query<Row>(`${SELECT} AND m.user_id = $2 ${lock ?? ''}`, [orgId, userId]);
  if (row === undefined) throw notFound('Member not found');
  return row;
}

/** @see TeamService */
export function createTeamService(options: {
  database: SystemDatabase;
  members: MemberService;
}): TeamService {
  const { database, members } = options;
  const get = (orgId: string, userId: string) => find(database.system, { orgId, userId });
  /**
   * Null where not only its own organisation's word stands behind the address: else nobody but it loses by what it does with it. Looked at under
   * locks: who vouches for the address meanwhile, or makes its person an owner, comes before the link or ends it.
   */
  const link = (actor: Principal, userId: string): Promise<NewLink | null> =>
    database.transaction(async (sql) => {
      await sql.query('SELECT 1 FROM credentials WHERE user_id = $1 FOR UPDATE', [userId]);
      const row = await find(sql, { orgId: actor.orgId, userId, lock: 'FOR SHARE OF m' });
      checkRank(roleOf(actor), row.role);
      return row.vouched_by === actor.orgId ? await insertLink(sql, userId) : null;
    });
  return {
    async list(orgId) {
      const rows = await database.system.query<Row>(`${SELECT} ORDER BY m.created_at, m.user_id`, [orgId]);
      return rows.map(toMember);
    },
    async add(actor, { email, role }) {
      checkRank(roleOf(actor), role);
      const { userId } = await members.invite(actor.orgId, email, role);
      const row = await get(actor.orgId, userId);
      return { member: toMember(row), link: row.has_password ? null : await link(actor, userId) };
    },
    async changeRole(actor, userId, role) {
      await members.changeRole(actor.orgId, userId, { role, actor: roleOf(actor) });
      return toMember(await get(actor.orgId, userId));
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
