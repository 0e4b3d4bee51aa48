-- The events that a run's stream replays. Each event has the run's totals at the time of the event, and the transaction
-- that wrote it, for readers of a whole organisation.
CREATE TABLE agent_run_events (
  run_id text NOT NULL REFERENCES agent_runs (id) ON DELETE CASCADE,
  org_id text NOT NULL,
  sequence int NOT NULL,
  type text NOT NULL CHECK (type IN ('start', 'step', 'done', 'error')),
  data jsonb NOT NULL,
  status text NOT NULL,
  total_steps int NOT NULL,
  tokens_used bigint NOT NULL,
  credits_used bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  xact xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (run_id, sequence)
);
CREATE INDEX agent_run_events_by_xact ON agent_run_events (org_id, xact);

ALTER TABLE agent_run_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_run_events FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_run_events_tenant ON agent_run_events TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON agent_run_events TO penstock_tenant;
CREATE POLICY agent_run_events_system ON agent_run_events TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_run_events TO penstock_system;
