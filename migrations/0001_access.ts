import { Migration } from '@mikro-orm/migrations';
import { SYSTEM_ROLE, TENANT_ROLE, tenancySql } from './tenancy.js';

const TABLES = `
CREATE TABLE installation (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  id text NOT NULL,
  signing_secret text,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE organizations (
  id text PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  plan_code text NOT NULL,
  subscription_id text,
  subscription_status text NOT NULL DEFAULT 'none' CHECK (subscription_status IN ('none', 'active', 'cancelled')),
  anchor_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  subscription_ends_at timestamptz,
  version bigint NOT NULL DEFAULT 1,
  service_user_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX organizations_name ON organizations (name);

CREATE TABLE users (
  id text PRIMARY KEY,
  org_id text REFERENCES organizations ON DELETE CASCADE,
  email text,
  kind text NOT NULL CHECK (kind IN ('service', 'person')),
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((kind = 'service') = (org_id IS NOT NULL))
);
CREATE UNIQUE INDEX users_email ON users (lower(email));
CREATE INDEX users_org ON users (org_id);

CREATE TABLE members (
  org_id text NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, user_id)
);
CREATE INDEX members_user ON members (user_id);

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id text NOT NULL REFERENCES users,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  scopes text[] NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX api_keys_org ON api_keys (org_id, id);
`;

/** The month that `p_at` lies in, counted from `p_anchor` in UTC: 31 January, 28 February, 31 March (decisions 2). */
const PERIOD = `
CREATE FUNCTION penstock_period(p_anchor timestamptz, p_at timestamptz, OUT period_start timestamptz, OUT period_end timestamptz)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (a + make_interval(months => n)) AT TIME ZONE 'UTC', (a + make_interval(months => n + 1)) AT TIME ZONE 'UTC'
  FROM (
    SELECT a, GREATEST(0, m - CASE WHEN a + make_interval(months => m) > t THEN 1 ELSE 0 END) AS n
    FROM (
      SELECT a, t, ((date_part('year', t) - date_part('year', a)) * 12 + date_part('month', t) - date_part('month', a))::int AS m
      FROM (SELECT p_anchor AT TIME ZONE 'UTC' AS a, p_at AT TIME ZONE 'UTC' AS t) utc
    ) months
  ) whole_months
$$;
`;

/** Person users belong to no organisation: the tenant sees those who are its members. */
const USER_TENANCY = `
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY users_tenant ON users FOR SELECT TO ${TENANT_ROLE} USING (
  org_id = NULLIF(current_setting('penstock.org_id', true), '')
  OR EXISTS (SELECT 1 FROM members WHERE members.user_id = users.id AND members.org_id = NULLIF(current_setting('penstock.org_id', true), ''))
);
CREATE POLICY users_system ON users TO ${SYSTEM_ROLE} USING (true) WITH CHECK (true);
GRANT SELECT ON users TO ${TENANT_ROLE};
GRANT SELECT, INSERT, UPDATE, DELETE ON users TO ${SYSTEM_ROLE};
`;

/** Organisations, people, keys, and the one row that names this installation. */
export class Migration0001 extends Migration {
  override up(): void {
    this.addSql(TABLES);
    this.addSql(PERIOD);
    this.addSql(tenancySql('organizations', { system: true, tenant: 'read', orgColumn: 'id' }));
    this.addSql(tenancySql('members', { system: true, tenant: 'read' }));
    this.addSql(tenancySql('api_keys', { system: true, tenant: 'read' }));
    this.addSql(USER_TENANCY);
    this.addSql(`INSERT INTO installation (id) VALUES ('ins_' || replace(gen_random_uuid()::text, '-', ''))`);
    this.addSql(`GRANT SELECT, UPDATE ON installation TO ${SYSTEM_ROLE}`);
  }
}
