-- The audit log: changes of an organisation's administration, with author, time and address. Append only: no role may
-- update or delete a row. `org_id` is null for operators' changes of the installation itself. `before` and `after` have
-- the fields that differ, and never a secret.
CREATE TABLE audit_log (
  id text PRIMARY KEY,
  org_id text REFERENCES organizations (id),
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor_kind text NOT NULL CHECK (actor_kind IN ('person', 'key', 'operator', 'system')),
  actor_id text,
  actor_name text,
  address text,
  action text NOT NULL,
  subject_id text,
  subject_name text,
  before jsonb,
  after jsonb
);
CREATE INDEX audit_log_org ON audit_log (org_id, id);

ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_log FORCE ROW LEVEL SECURITY;
CREATE POLICY audit_log_tenant ON audit_log TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT ON audit_log TO penstock_tenant;
CREATE POLICY audit_log_system ON audit_log TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT ON audit_log TO penstock_system;
