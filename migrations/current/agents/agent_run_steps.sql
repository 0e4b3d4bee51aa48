-- The steps of runs, in order.
CREATE TABLE agent_run_steps (
  run_id text NOT NULL REFERENCES agent_runs (id) ON DELETE CASCADE,
  org_id text NOT NULL,
  step_number int NOT NULL,
  step_type text NOT NULL CHECK (step_type IN ('thinking', 'tool_call', 'tool_result', 'response', 'error')),
  content text,
  tool_name text,
  tool_input jsonb,
  tool_output jsonb,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, step_number)
);

ALTER TABLE agent_run_steps ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_run_steps FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_run_steps_tenant ON agent_run_steps TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON agent_run_steps TO penstock_tenant;
CREATE POLICY agent_run_steps_system ON agent_run_steps TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_run_steps TO penstock_system;
