/**
 * Agents, their runs and what a run's stream replays; sessions, memory and knowledge (contract 2.11–2.13).
 *
 * agent_runs: `agent` is the agent as the run uses it, cut to the plan; `state` what the next worker goes on from; `credits_used` in
 * hundredths. Without a worker a running run waits to be claimed. Events also hold the run's figures as of them.
 */
export const AGENT_TABLES = `
CREATE TABLE agents (
  id text PRIMARY KEY,
  org_id text REFERENCES organizations (id) ON DELETE CASCADE,
  user_id text,
  name text NOT NULL,
  description text NOT NULL DEFAULT '',
  icon text NOT NULL DEFAULT 'bot',
  system_prompt text NOT NULL,
  model text NOT NULL,
  tools text[] NOT NULL DEFAULT '{}',
  temperature double precision NOT NULL,
  max_tokens int NOT NULL,
  max_iterations int NOT NULL,
  memory_enabled boolean NOT NULL DEFAULT false,
  is_template boolean NOT NULL DEFAULT false,
  template_category text,
  is_public boolean NOT NULL DEFAULT false,
  run_count bigint NOT NULL DEFAULT 0,
  deleted_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK (is_template = (org_id IS NULL))
);
CREATE INDEX agents_org ON agents (org_id, id) WHERE deleted_at IS NULL;

CREATE TABLE agent_sessions (
  org_id text NOT NULL,
  agent_id text NOT NULL,
  session_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, agent_id, session_id)
);

CREATE TABLE agent_runs (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  user_id text NOT NULL,
  key_id text NOT NULL,
  agent_id text NOT NULL,
  agent_org_id text,
  agent jsonb NOT NULL,
  session_id text NOT NULL,
  end_user text,
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
CREATE INDEX agent_runs_finished ON agent_runs (completed_at) WHERE completed_at IS NOT NULL;

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

CREATE TABLE agent_memories (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  agent_id text NOT NULL,
  end_user text,
  run_id text,
  content text NOT NULL,
  embedding real[],
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX agent_memories_of ON agent_memories (org_id, agent_id, end_user, id);

CREATE TABLE knowledge_files (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  agent_id text NOT NULL,
  file_id text NOT NULL,
  filename text NOT NULL,
  content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
  error_message text,
  chunk_count int NOT NULL DEFAULT 0,
  attempt int NOT NULL DEFAULT 0,
  fence int NOT NULL DEFAULT 0,
  worker_id text,
  lease_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX knowledge_files_agent ON knowledge_files (org_id, agent_id, id);
CREATE INDEX knowledge_files_open ON knowledge_files (created_at) WHERE status IN ('pending', 'processing');

CREATE TABLE knowledge_chunks (
  file_id text NOT NULL REFERENCES knowledge_files (id) ON DELETE CASCADE,
  org_id text NOT NULL,
  agent_id text NOT NULL,
  position int NOT NULL,
  text text NOT NULL,
  search tsvector GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED,
  embedding real[],
  PRIMARY KEY (file_id, position)
);
CREATE INDEX knowledge_chunks_agent ON knowledge_chunks (org_id, agent_id);
CREATE INDEX knowledge_chunks_search ON knowledge_chunks USING gin (search);
`;
