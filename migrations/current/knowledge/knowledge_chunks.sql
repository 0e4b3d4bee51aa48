-- Passages of knowledge files. `embedding` is a vector of 512 signed bytes, one for each hashed feature, scaled to the
-- largest. The 10,000 passages of an agent take 5 MB, which a process can cache.
--
-- The index is updated at each insert (fastupdate = off). With the pending list of GIN, every search of every agent
-- scans that list until the next vacuum: the first minute after a large file was then ten times slower.
CREATE TABLE knowledge_chunks (
  file_id text NOT NULL REFERENCES knowledge_files (id) ON DELETE CASCADE,
  org_id text NOT NULL,
  agent_id text NOT NULL,
  position int NOT NULL,
  text text NOT NULL,
  search tsvector GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED,
  embedding bytea,
  PRIMARY KEY (file_id, position)
);
CREATE INDEX knowledge_chunks_agent ON knowledge_chunks (org_id, agent_id);
CREATE INDEX knowledge_chunks_search ON knowledge_chunks USING gin (search) WITH (fastupdate = off);

ALTER TABLE knowledge_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE knowledge_chunks FORCE ROW LEVEL SECURITY;
CREATE POLICY knowledge_chunks_tenant ON knowledge_chunks TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON knowledge_chunks TO penstock_tenant;
CREATE POLICY knowledge_chunks_system ON knowledge_chunks TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON knowledge_chunks TO penstock_system;
