-- The parts of a job's result that an attempt has made so far, for a caller that reads them before the job completes
-- (`live` of jobs). UNLOGGED: if a crash of PostgreSQL loses a part, only its reader's answer breaks off; the job is
-- not affected. Parts are deleted soon after their job's end.
CREATE UNLOGGED TABLE job_parts (
  job_id text NOT NULL,
  org_id text NOT NULL,
  fence integer NOT NULL,
  -- From 1 without gaps, in each attempt.
  number integer NOT NULL,
  bytes bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (job_id, fence, number)
);
ALTER TABLE job_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE INDEX job_parts_by_age ON job_parts (created_at);

ALTER TABLE job_parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_parts FORCE ROW LEVEL SECURITY;
CREATE POLICY job_parts_tenant ON job_parts TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON job_parts TO penstock_tenant;
CREATE POLICY job_parts_system ON job_parts TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON job_parts TO penstock_system;

-- Stores the parts (base64) that follow number `p_after`, while the attempt holds its job. Because of the lock, either
-- a cancellation sees the parts, or this call sees the cancellation: parts that were shown are charged
-- (penstock_job_finish).
CREATE OR REPLACE FUNCTION penstock_job_give(p_worker text, p_id text, p_fence int, p_after int, p_parts text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  org text;
BEGIN
  SELECT j.org_id INTO org FROM jobs j WHERE j.id = p_id AND j.worker_id = p_worker AND j.fence = p_fence FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  INSERT INTO job_parts (job_id, org_id, fence, number, bytes)
    SELECT p_id, org, p_fence, p_after + u.nth, decode(u.part, 'base64') FROM unnest(p_parts) WITH ORDINALITY u (part, nth)
    ON CONFLICT DO NOTHING;
  PERFORM pg_notify('penstock_job_part', p_id);
END $$;

-- Deletes the parts of jobs that ended a minute ago or were deleted.
CREATE OR REPLACE FUNCTION penstock_job_parts_forget() RETURNS void LANGUAGE sql AS $$
  DELETE FROM job_parts p WHERE p.created_at < clock_timestamp() - interval '1 minute' AND NOT EXISTS (
    SELECT FROM jobs j WHERE j.id = p.job_id
      AND (j.completed_at IS NULL OR j.completed_at > clock_timestamp() - interval '1 minute'))
$$;
