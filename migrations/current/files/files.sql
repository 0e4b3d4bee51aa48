-- Stored files. The file store has the content under the same id.
CREATE TABLE files (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  extension text NOT NULL,
  width integer,
  height integer,
  duration_seconds double precision,
  -- The job that has the file as input or output. The file is deleted together with the job. Null: its owner deletes
  -- it.
  job_id text,
  -- The run that has the file as attachment or as a tool's result. The file is deleted together with the run.
  run_id text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX files_org_id ON files (org_id);
CREATE INDEX files_job_id ON files (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX files_run_id ON files (run_id) WHERE run_id IS NOT NULL;

ALTER TABLE files ENABLE ROW LEVEL SECURITY;
ALTER TABLE files FORCE ROW LEVEL SECURITY;
CREATE POLICY files_tenant ON files TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON files TO penstock_tenant;
CREATE POLICY files_system ON files TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON files TO penstock_system;
