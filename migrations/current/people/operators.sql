-- The people who may operate the installation from the dashboard. Only the command line adds or removes them. They
-- belong to no organisation as operators, so the tenant role has no right to the table.
CREATE TABLE operators (
  user_id text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE operators ENABLE ROW LEVEL SECURITY;
ALTER TABLE operators FORCE ROW LEVEL SECURITY;
CREATE POLICY operators_system ON operators TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON operators TO penstock_system;
