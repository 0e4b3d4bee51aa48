-- Agents (contract 2.11). Every organisation can read templates and public agents; only the owner can change them
-- (decisions 6, "Agents").
CREATE TABLE agents (
  id text PRIMARY KEY,
  org_id text REFERENCES organizations (id) ON DELETE CASCADE,
  user_id text,
  name text NOT NULL,
  description text NOT NULL DEFAULT '',
  icon text NOT NULL DEFAULT 'bot',
  system_prompt text NOT NULL,
  model text NOT NULL,
  tools text[] NOT NULL DEFAULT '{}',
  temperature double precision NOT NULL,
  max_tokens int NOT NULL,
  max_iterations int NOT NULL,
  memory_enabled boolean NOT NULL DEFAULT false,
  is_template boolean NOT NULL DEFAULT false,
  template_category text,
  is_public boolean NOT NULL DEFAULT false,
  run_count bigint NOT NULL DEFAULT 0,
  deleted_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK (is_template = (org_id IS NULL))
);
CREATE INDEX agents_org ON agents (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX agents_deleted ON agents (deleted_at) WHERE deleted_at IS NOT NULL;

ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE agents FORCE ROW LEVEL SECURITY;
CREATE POLICY agents_read ON agents FOR SELECT TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), '') OR is_template OR is_public);
CREATE POLICY agents_insert ON agents FOR INSERT TO penstock_tenant
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
CREATE POLICY agents_update ON agents FOR UPDATE TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
CREATE POLICY agents_delete ON agents FOR DELETE TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON agents TO penstock_tenant;
CREATE POLICY agents_system ON agents TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agents TO penstock_system;
