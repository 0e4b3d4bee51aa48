-- What an agent remembers about an end user. `embedding` has the same format as in knowledge_chunks.
CREATE TABLE agent_memories (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  agent_id text NOT NULL,
  end_user text,
  run_id text,
  content text NOT NULL,
  embedding bytea,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX agent_memories_of ON agent_memories (org_id, agent_id, end_user, id);
CREATE UNIQUE INDEX agent_memories_once ON agent_memories (org_id, agent_id, COALESCE(end_user, ''), md5(content));
CREATE INDEX agent_memories_agent ON agent_memories (agent_id);

ALTER TABLE agent_memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_memories FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_memories_tenant ON agent_memories TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_memories TO penstock_tenant;
CREATE POLICY agent_memories_system ON agent_memories TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_memories TO penstock_system;
