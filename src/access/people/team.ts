import type { Sql, SystemDatabase } from '../../database/index.js';
import { ApiError, notFound } from '../../contract/errors.js';
import type { MemberRole } from '../../contract/words.js';
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
   * The link is for who has no password here yet, and whose address neither the operator nor an identity provider vouches for; else null.
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
   * A link by which a member chooses a new password for this organisation. Whose address is proven gets theirs from the operator: who has that
   * link has the account, in every organisation.
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
FROM members m JOIN users u ON u.id = m.user_id
LEFT JOIN LATERAL (
  SELECT * FROM credentials k WHERE k.user_id = m.user_id AND (k.vouched_by IS NULL OR k.vouched_by = m.org_id)
  ORDER BY k.vouched_by NULLS FIRST LIMIT 1) c ON true
WHERE m.org_id = $1`;

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
   * Null where the address is proven: then it is its owner's. Else the link leads into this organisation alone. Looked at under
   * locks: who vouches for the address meanwhile, or makes its person an owner, comes before the link or ends it.
   */
  const link = (actor: Principal, userId: string): Promise<NewLink | null> =>
    database.transaction(async (sql) => {
      await sql.query('SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
      await sql.query('SELECT 1 FROM credentials WHERE user_id = $1 ORDER BY vouched_by FOR UPDATE', [
        userId,
      ]);
      const row = await find(sql, { orgId: actor.orgId, userId, lock: 'FOR SHARE OF m' });
      checkRank(roleOf(actor), row.role);
      return row.vouched_by === actor.orgId ? await insertLink(sql, { userId, voucher: actor.orgId }) : null;
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
