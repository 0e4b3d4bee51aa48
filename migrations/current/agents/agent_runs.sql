-- Runs (contract 2.12). A running run without a worker waits to be claimed. `agent`: a copy of the agent, reduced to
-- what the plan allows. `state`: where the next worker continues. `end_user`: the person whose memories the run uses.
-- `attribution`: the end user and tags to which the run and its agent's calls are attributed. `token_id`: the client
-- token that started the run, whose cap counts the run's calls. `credits_used`: in hundredths.
CREATE TABLE agent_runs (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  user_id text NOT NULL,
  key_id text NOT NULL,
  token_id text,
  agent_id text NOT NULL,
  agent_org_id text,
  agent jsonb NOT NULL,
  session_id text NOT NULL,
  end_user text,
  attribution jsonb NOT NULL,
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'failed', 'cancelled')),
  input text NOT NULL,
  attachments jsonb NOT NULL DEFAULT '[]',
  history jsonb NOT NULL DEFAULT '[]',
  output text,
  error_message text,
  total_steps int NOT NULL DEFAULT 0,
  tokens_used bigint NOT NULL DEFAULT 0,
  credits_used bigint NOT NULL DEFAULT 0,
  operation_id text NOT NULL UNIQUE,
  request_id text NOT NULL,
  client jsonb NOT NULL,
  plan_code text NOT NULL,
  state jsonb,
  sequence int NOT NULL DEFAULT 0,
  fence int NOT NULL DEFAULT 0,
  worker_id text,
  lease_until timestamptz,
  deadline timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  CHECK ((status = 'running') = (completed_at IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX agent_runs_list ON agent_runs (org_id, agent_id, id);
CREATE INDEX agent_runs_session ON agent_runs (org_id, agent_id, session_id, id);
CREATE INDEX agent_runs_open ON agent_runs (id) WHERE status = 'running';
CREATE INDEX agent_runs_token ON agent_runs (token_id) WHERE status = 'running' AND token_id IS NOT NULL;
-- Indexes of waiting and of claimed runs by organisation. A claim reads one entry for each organisation, however many
-- runs wait.
CREATE INDEX agent_runs_queue ON agent_runs (org_id, id) WHERE status = 'running' AND worker_id IS NULL;
CREATE INDEX agent_runs_worked ON agent_runs (org_id, id) WHERE status = 'running' AND worker_id IS NOT NULL;
CREATE INDEX agent_runs_finished ON agent_runs (completed_at) WHERE completed_at IS NOT NULL;

ALTER TABLE agent_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_runs_tenant ON agent_runs TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON agent_runs TO penstock_tenant;
CREATE POLICY agent_runs_system ON agent_runs TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_runs TO penstock_system;
