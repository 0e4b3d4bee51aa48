-- The events that a run's stream replays. Each event has the run's totals at the time of the event.
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
  PRIMARY KEY (run_id, sequence)
);

ALTER TABLE agent_run_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_run_events FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_run_events_tenant ON agent_run_events TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON agent_run_events TO penstock_tenant;
CREATE POLICY agent_run_events_system ON agent_run_events TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_run_events TO penstock_system;
