-- The texts that the sandbox has spoken, with a fingerprint of the sound that identifies each (decisions 6,
-- "Transcription").
CREATE TABLE spoken_texts (
  job_id text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  org_id text NOT NULL,
  text text NOT NULL,
  seconds double precision NOT NULL,
  print bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX spoken_texts_newest ON spoken_texts (org_id, created_at DESC);

ALTER TABLE spoken_texts ENABLE ROW LEVEL SECURITY;
ALTER TABLE spoken_texts FORCE ROW LEVEL SECURITY;
CREATE POLICY spoken_texts_tenant ON spoken_texts TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON spoken_texts TO penstock_tenant;
