-- An organisation and its subscription (decisions 2). Every change increments `version`, so a process can tell whether
-- its copy is out of date.
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

ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
ALTER TABLE organizations FORCE ROW LEVEL SECURITY;
CREATE POLICY organizations_tenant ON organizations TO penstock_tenant
  USING (id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON organizations TO penstock_tenant;
CREATE POLICY organizations_system ON organizations TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON organizations TO penstock_system;
