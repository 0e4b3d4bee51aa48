-- Files that an agent can search (contract 2.13), and the progress of reading them.
CREATE TABLE knowledge_files (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  agent_id text NOT NULL,
  file_id text NOT NULL,
  filename text NOT NULL,
  content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
  error_message text,
  chunk_count int NOT NULL DEFAULT 0,
  attempt int NOT NULL DEFAULT 0,
  fence int NOT NULL DEFAULT 0,
  worker_id text,
  lease_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX knowledge_files_agent ON knowledge_files (org_id, agent_id, id);
CREATE INDEX knowledge_files_open ON knowledge_files (created_at) WHERE status IN ('pending', 'processing');

ALTER TABLE knowledge_files ENABLE ROW LEVEL SECURITY;
ALTER TABLE knowledge_files FORCE ROW LEVEL SECURITY;
CREATE POLICY knowledge_files_tenant ON knowledge_files TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON knowledge_files TO penstock_tenant;
CREATE POLICY knowledge_files_system ON knowledge_files TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON knowledge_files TO penstock_system;
