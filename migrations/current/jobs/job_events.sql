-- The history of jobs, which streams replay. It stores only the columns that change; the rest is read from `jobs` (see
-- penstock_job_view for the whole message). A trigger deletes it together with its job (forget_events.sql). A foreign
-- key would lock the job's row for each event, which costs more than the event itself. `xact` is the transaction that
-- wrote the event: with it a reader of a whole organisation finds exactly the events that it has not seen
-- (src/events/event-position.ts).
CREATE TABLE job_events (
  job_id text NOT NULL,
  org_id text NOT NULL,
  sequence integer NOT NULL,
  type text NOT NULL,
  status text NOT NULL,
  progress integer NOT NULL,
  attempt integer NOT NULL,
  fence integer NOT NULL,
  started_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  xact xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (job_id, sequence)
);
CREATE INDEX job_events_by_xact ON job_events (org_id, xact);

ALTER TABLE job_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_events FORCE ROW LEVEL SECURITY;
CREATE POLICY job_events_tenant ON job_events TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON job_events TO penstock_tenant;
CREATE POLICY job_events_system ON job_events TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON job_events TO penstock_system;
