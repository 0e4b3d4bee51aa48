-- Files that callers send with createUpload (beyond 14.10). Each has its row in `files` from the beginning, with the
-- declared size: so the storage that it will need is reserved, and is released when the file is deleted.
CREATE TABLE uploads (
  file_id text PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,
  org_id text NOT NULL,
  purpose text NOT NULL CHECK (purpose IN ('input', 'knowledge')),
  -- The number of bytes from the file's beginning that were received without a gap.
  received bigint NOT NULL DEFAULT 0,
  parts integer NOT NULL DEFAULT 0,
  finished_at timestamptz,
  -- When the row is deleted: a day after the upload began, or some time after it was finished.
  expires_at timestamptz NOT NULL
);

ALTER TABLE uploads ENABLE ROW LEVEL SECURITY;
ALTER TABLE uploads FORCE ROW LEVEL SECURITY;
CREATE POLICY uploads_tenant ON uploads TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON uploads TO penstock_tenant;
CREATE POLICY uploads_system ON uploads TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON uploads TO penstock_system;

-- The parts of an unfinished upload in the file store, each under its id. The row is written
-- before the bytes, and outlives its upload until they are removed.
CREATE TABLE upload_parts (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  file_id text NOT NULL,
  starts bigint NOT NULL,
  size_bytes bigint NOT NULL,
  -- Whether the part belongs to the file. If the same part was sent twice at the same time, only one of the two does.
  taken boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX upload_parts_file ON upload_parts (file_id, starts);

ALTER TABLE upload_parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE upload_parts FORCE ROW LEVEL SECURITY;
CREATE POLICY upload_parts_tenant ON upload_parts TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON upload_parts TO penstock_tenant;
CREATE POLICY upload_parts_system ON upload_parts TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON upload_parts TO penstock_system;
