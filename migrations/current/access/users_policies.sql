-- The policies of `users`. They are not in users.sql because they read `members`, which is created later.
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY users_tenant ON users FOR SELECT TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), '')
    OR EXISTS (SELECT 1 FROM members
      WHERE members.user_id = users.id AND members.org_id = NULLIF(current_setting('penstock.org_id', true), '')));
GRANT SELECT ON users TO penstock_tenant;
CREATE POLICY users_system ON users TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON users TO penstock_system;
