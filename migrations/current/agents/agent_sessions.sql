-- Conversations with an agent. The first run of a conversation creates the row.
CREATE TABLE agent_sessions (
  org_id text NOT NULL,
  agent_id text NOT NULL,
  session_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, agent_id, session_id)
);

ALTER TABLE agent_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_sessions_tenant ON agent_sessions TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_sessions TO penstock_tenant;
CREATE POLICY agent_sessions_system ON agent_sessions TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_sessions TO penstock_system;
