-- The schema that the migrations make. `npm run migrations` writes this file, and a test compares it.

CREATE TYPE admission_caller AS (
  key_id text,
  user_id text,
  version bigint,
  ended boolean\n);

CREATE TYPE admission_counter AS (
  org integer,
  budget text,
  subject text,
  period text,
  amount integer,
  cap bigint,
  wanted bigint\n);

CREATE TYPE admission_org AS (
  id text,
  version bigint,
  allowance bigint[],
  wanted bigint[]\n);

CREATE TYPE admission_profile AS (
  caller integer,
  key_window integer,
  endpoint_window integer,
  own_window integer,
  org integer,
  kind text,
  model text,
  multiplier bigint,
  fixed bigint[],
  buckets integer[],
  service_client text,
  client_name text,
  user_agent text,
  end_user text,
  tags text[],
  counters integer[]\n);

CREATE TYPE admission_request AS (
  profile integer,
  operation_id text,
  request_id text,
  job_id text,
  run_id text,
  parent text,
  prompt bigint,
  max bigint,
  credits bigint,
  tokens bigint,
  nano bigint,
  nano_prompt bigint\n);

CREATE TYPE admission_window AS (
  key_id text,
  name text,
  caller integer,
  grain integer,
  stamps integer,
  length_us bigint,
  wanted integer\n);

CREATE TYPE budget_ending AS (
  counters bigint[],
  held bigint[],
  held_nano bigint,
  spent bigint[],
  spent_nano bigint\n);

CREATE TYPE settlement_ending AS (
  operation_id text,
  amounts bigint[],
  fallback jsonb,
  status text,
  error_code text,
  answered_model text,
  provider text,
  upstream_id text,
  first_token_ms integer,
  tokens bigint[],
  cost_nano bigint,
  cost_version text\n);

CREATE TYPE settlement_event AS (
  at integer,
  org text,
  type text,
  data jsonb,
  unheard boolean,
  trace text\n);

CREATE SEQUENCE job_turn;
GRANT USAGE ON SEQUENCE job_turn TO penstock_system;

CREATE TABLE agent_memories (
  id text NOT NULL,
  org_id text NOT NULL,
  agent_id text NOT NULL,
  end_user text,
  run_id text,
  content text NOT NULL,
  embedding bytea,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT agent_memories_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT agent_memories_pkey PRIMARY KEY (id)
);
CREATE INDEX agent_memories_agent ON public.agent_memories USING btree (agent_id);
CREATE INDEX agent_memories_of ON public.agent_memories USING btree (org_id, agent_id, end_user, id);
CREATE UNIQUE INDEX agent_memories_once ON public.agent_memories USING btree (org_id, agent_id, COALESCE(end_user, ''::text), md5(content));
ALTER TABLE agent_memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_memories FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_memories_system ON agent_memories FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY agent_memories_tenant ON agent_memories FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON agent_memories TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON agent_memories TO penstock_tenant;

CREATE TABLE agent_run_events (
  run_id text NOT NULL,
  org_id text NOT NULL,
  sequence integer NOT NULL,
  type text NOT NULL,
  data jsonb NOT NULL,
  status text NOT NULL,
  total_steps integer NOT NULL,
  tokens_used bigint NOT NULL,
  credits_used bigint NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  xact xid8 DEFAULT pg_current_xact_id() NOT NULL,
  CONSTRAINT agent_run_events_pkey PRIMARY KEY (run_id, sequence),
  CONSTRAINT agent_run_events_run_id_fkey FOREIGN KEY (run_id) REFERENCES agent_runs(id) ON DELETE CASCADE,
  CONSTRAINT agent_run_events_type_check CHECK ((type = ANY (ARRAY['start'::text, 'step'::text, 'done'::text, 'error'::text])))
);
CREATE INDEX agent_run_events_by_xact ON public.agent_run_events USING btree (org_id, xact);
ALTER TABLE agent_run_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_run_events FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_run_events_system ON agent_run_events FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY agent_run_events_tenant ON agent_run_events FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON agent_run_events TO penstock_system;
GRANT SELECT ON agent_run_events TO penstock_tenant;

CREATE TABLE agent_run_steps (
  run_id text NOT NULL,
  org_id text NOT NULL,
  step_number integer NOT NULL,
  step_type text NOT NULL,
  content text,
  tool_name text,
  tool_input jsonb,
  tool_output jsonb,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT agent_run_steps_pkey PRIMARY KEY (run_id, step_number),
  CONSTRAINT agent_run_steps_run_id_fkey FOREIGN KEY (run_id) REFERENCES agent_runs(id) ON DELETE CASCADE,
  CONSTRAINT agent_run_steps_step_type_check CHECK ((step_type = ANY (ARRAY['thinking'::text, 'tool_call'::text, 'tool_result'::text, 'response'::text, 'error'::text])))
);
ALTER TABLE agent_run_steps ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_run_steps FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_run_steps_system ON agent_run_steps FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY agent_run_steps_tenant ON agent_run_steps FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON agent_run_steps TO penstock_system;
GRANT SELECT ON agent_run_steps TO penstock_tenant;

CREATE TABLE agent_runs (
  id text NOT NULL,
  org_id text NOT NULL,
  user_id text NOT NULL,
  key_id text NOT NULL,
  token_id text,
  agent_id text NOT NULL,
  agent_org_id text,
  agent jsonb NOT NULL,
  session_id text NOT NULL,
  end_user text,
  attribution jsonb NOT NULL,
  status text DEFAULT 'running'::text NOT NULL,
  input text NOT NULL,
  attachments jsonb DEFAULT '[]'::jsonb NOT NULL,
  history jsonb DEFAULT '[]'::jsonb NOT NULL,
  output text,
  error_message text,
  total_steps integer DEFAULT 0 NOT NULL,
  tokens_used bigint DEFAULT 0 NOT NULL,
  credits_used bigint DEFAULT 0 NOT NULL,
  operation_id text NOT NULL,
  request_id text NOT NULL,
  client jsonb NOT NULL,
  plan_code text NOT NULL,
  state jsonb,
  sequence integer DEFAULT 0 NOT NULL,
  fence integer DEFAULT 0 NOT NULL,
  worker_id text,
  lease_until timestamp with time zone,
  deadline timestamp with time zone,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  CONSTRAINT agent_runs_check CHECK (((status = 'running'::text) = (completed_at IS NULL))),
  CONSTRAINT agent_runs_operation_id_key UNIQUE (operation_id),
  CONSTRAINT agent_runs_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT agent_runs_pkey PRIMARY KEY (id),
  CONSTRAINT agent_runs_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
) WITH (fillfactor=80);
CREATE INDEX agent_runs_finished ON public.agent_runs USING btree (completed_at) WHERE (completed_at IS NOT NULL);
CREATE INDEX agent_runs_list ON public.agent_runs USING btree (org_id, agent_id, id);
CREATE INDEX agent_runs_open ON public.agent_runs USING btree (id) WHERE (status = 'running'::text);
CREATE INDEX agent_runs_queue ON public.agent_runs USING btree (org_id, id) WHERE ((status = 'running'::text) AND (worker_id IS NULL));
CREATE INDEX agent_runs_session ON public.agent_runs USING btree (org_id, agent_id, session_id, id);
CREATE INDEX agent_runs_token ON public.agent_runs USING btree (token_id) WHERE ((status = 'running'::text) AND (token_id IS NOT NULL));
CREATE INDEX agent_runs_worked ON public.agent_runs USING btree (org_id, id) WHERE ((status = 'running'::text) AND (worker_id IS NOT NULL));
ALTER TABLE agent_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_runs_system ON agent_runs FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY agent_runs_tenant ON agent_runs FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON agent_runs TO penstock_system;
GRANT SELECT ON agent_runs TO penstock_tenant;

CREATE TABLE agent_sessions (
  org_id text NOT NULL,
  agent_id text NOT NULL,
  session_id text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT agent_sessions_pkey PRIMARY KEY (org_id, agent_id, session_id)
);
ALTER TABLE agent_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY agent_sessions_system ON agent_sessions FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY agent_sessions_tenant ON agent_sessions FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON agent_sessions TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON agent_sessions TO penstock_tenant;

CREATE TABLE agents (
  id text NOT NULL,
  org_id text,
  user_id text,
  name text NOT NULL,
  description text DEFAULT ''::text NOT NULL,
  icon text DEFAULT 'bot'::text NOT NULL,
  system_prompt text NOT NULL,
  model text NOT NULL,
  tools text[] DEFAULT '{}'::text[] NOT NULL,
  temperature double precision NOT NULL,
  max_tokens integer NOT NULL,
  max_iterations integer NOT NULL,
  memory_enabled boolean DEFAULT false NOT NULL,
  is_template boolean DEFAULT false NOT NULL,
  template_category text,
  is_public boolean DEFAULT false NOT NULL,
  run_count bigint DEFAULT 0 NOT NULL,
  deleted_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT agents_check CHECK ((is_template = (org_id IS NULL))),
  CONSTRAINT agents_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT agents_pkey PRIMARY KEY (id)
);
CREATE INDEX agents_deleted ON public.agents USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX agents_org ON public.agents USING btree (org_id, id) WHERE (deleted_at IS NULL);
ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE agents FORCE ROW LEVEL SECURITY;
CREATE POLICY agents_delete ON agents FOR DELETE TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
CREATE POLICY agents_insert ON agents FOR INSERT TO penstock_tenant WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
CREATE POLICY agents_read ON agents FOR SELECT TO penstock_tenant USING (((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)) OR is_template OR is_public));
CREATE POLICY agents_system ON agents FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY agents_update ON agents FOR UPDATE TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON agents TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON agents TO penstock_tenant;

CREATE TABLE api_keys (
  id text NOT NULL,
  org_id text NOT NULL,
  user_id text NOT NULL,
  name text NOT NULL,
  prefix text NOT NULL,
  hash bytea NOT NULL,
  scopes text[] NOT NULL,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  session_id text,
  made_by text,
  models text[],
  rate_rpm integer,
  rate_burst integer,
  end_user text,
  tags text[] DEFAULT '{}'::text[] NOT NULL,
  previous_hash bytea,
  previous_until timestamp with time zone,
  is_router boolean DEFAULT false NOT NULL,
  CONSTRAINT api_keys_check CHECK (((rate_rpm IS NULL) = (rate_burst IS NULL))),
  CONSTRAINT api_keys_end_user_check CHECK (((length(end_user) >= 1) AND (length(end_user) <= 256))),
  CONSTRAINT api_keys_hash_key UNIQUE (hash),
  CONSTRAINT api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  CONSTRAINT api_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_previous_hash_key UNIQUE (previous_hash),
  CONSTRAINT api_keys_rate_burst_check CHECK ((rate_burst > 0)),
  CONSTRAINT api_keys_rate_rpm_check CHECK ((rate_rpm > 0)),
  CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX api_keys_org ON public.api_keys USING btree (org_id, id);
CREATE UNIQUE INDEX api_keys_session ON public.api_keys USING btree (session_id, org_id) WHERE ((session_id IS NOT NULL) AND (revoked_at IS NULL));
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY api_keys_system ON api_keys FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY api_keys_tenant ON api_keys FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON api_keys TO penstock_system;
GRANT SELECT ON api_keys TO penstock_tenant;

CREATE TABLE audit_log (
  id text NOT NULL,
  org_id text,
  at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  actor_kind text NOT NULL,
  actor_id text,
  actor_name text,
  address text,
  action text NOT NULL,
  subject_id text,
  subject_name text,
  before jsonb,
  after jsonb,
  CONSTRAINT audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['person'::text, 'key'::text, 'operator'::text, 'system'::text]))),
  CONSTRAINT audit_log_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
  CONSTRAINT audit_log_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_log_org ON public.audit_log USING btree (org_id, id);
ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_log FORCE ROW LEVEL SECURITY;
CREATE POLICY audit_log_system ON audit_log FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY audit_log_tenant ON audit_log FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT INSERT, SELECT ON audit_log TO penstock_system;
GRANT INSERT, SELECT ON audit_log TO penstock_tenant;

CREATE TABLE balances (
  org_id text COLLATE "C" NOT NULL,
  period_start timestamp with time zone NOT NULL,
  period_end timestamp with time zone NOT NULL,
  anchor_at timestamp with time zone NOT NULL,
  org_version bigint NOT NULL,
  superseded boolean DEFAULT false NOT NULL,
  allowance bigint[] NOT NULL,
  topup_start bigint[] DEFAULT penstock_zeros() NOT NULL,
  topup_added bigint[] DEFAULT penstock_zeros() NOT NULL,
  covered bigint[] DEFAULT penstock_zeros() NOT NULL,
  used bigint[] DEFAULT penstock_zeros() NOT NULL,
  reserved bigint[] DEFAULT penstock_zeros() NOT NULL,
  low_fired boolean[] DEFAULT penstock_no_flags() NOT NULL,
  depleted_fired boolean[] DEFAULT penstock_no_flags() NOT NULL,
  sequence bigint DEFAULT 0 NOT NULL,
  CONSTRAINT balances_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT balances_pkey PRIMARY KEY (org_id, period_start)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, fillfactor=20);
CREATE UNIQUE INDEX balances_current ON public.balances USING btree (org_id) WHERE (NOT superseded);
ALTER TABLE balances ENABLE ROW LEVEL SECURITY;
ALTER TABLE balances FORCE ROW LEVEL SECURITY;
CREATE POLICY balances_system ON balances FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY balances_tenant ON balances FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON balances TO penstock_system;
GRANT SELECT ON balances TO penstock_tenant;

CREATE TABLE budget_counters (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  budget_id text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  period_start timestamp with time zone NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  amount integer NOT NULL,
  spent bigint DEFAULT 0 NOT NULL,
  reserved bigint DEFAULT 0 NOT NULL,
  fires_at bigint,
  fired integer[] DEFAULT '{}'::integer[] NOT NULL,
  CONSTRAINT budget_counters_budget_id_period_start_subject_key UNIQUE (budget_id, period_start, subject),
  CONSTRAINT budget_counters_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT budget_counters_pkey PRIMARY KEY (id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, fillfactor=20);
CREATE INDEX budget_counters_period ON public.budget_counters USING btree (period_start);
ALTER TABLE budget_counters ENABLE ROW LEVEL SECURITY;
ALTER TABLE budget_counters FORCE ROW LEVEL SECURITY;
CREATE POLICY budget_counters_system ON budget_counters FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY budget_counters_tenant ON budget_counters FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON budget_counters TO penstock_system;
GRANT SELECT ON budget_counters TO penstock_tenant;

CREATE TABLE budgets (
  id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  scope text NOT NULL,
  subject text,
  unit text NOT NULL,
  cap bigint NOT NULL,
  period text NOT NULL,
  hard boolean DEFAULT true NOT NULL,
  thresholds integer[] NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  token_id text COLLATE "C",
  CONSTRAINT budgets_cap_check CHECK ((cap >= 0)),
  CONSTRAINT budgets_check CHECK (((scope = 'organization'::text) = (subject IS NULL))),
  CONSTRAINT budgets_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  CONSTRAINT budgets_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT budgets_period_check CHECK ((period = ANY (ARRAY['total'::text, 'day'::text, 'week'::text, 'month'::text]))),
  CONSTRAINT budgets_pkey PRIMARY KEY (id),
  CONSTRAINT budgets_scope_check CHECK ((scope = ANY (ARRAY['organization'::text, 'key'::text, 'endUser'::text, 'tag'::text]))),
  CONSTRAINT budgets_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 256))),
  CONSTRAINT budgets_token_id_fkey FOREIGN KEY (token_id) REFERENCES client_tokens(id) ON DELETE CASCADE,
  CONSTRAINT budgets_unit_check CHECK (((unit = 'usd'::text) OR (unit = ANY (penstock_bucket_names()))))
);
CREATE INDEX budgets_org ON public.budgets USING btree (org_id, id);
CREATE INDEX budgets_token ON public.budgets USING btree (token_id) WHERE (token_id IS NOT NULL);
ALTER TABLE budgets ENABLE ROW LEVEL SECURITY;
ALTER TABLE budgets FORCE ROW LEVEL SECURITY;
CREATE POLICY budgets_system ON budgets FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY budgets_tenant ON budgets FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON budgets TO penstock_system;
GRANT SELECT ON budgets TO penstock_tenant;

CREATE TABLE client_tokens (
  id text COLLATE "C" NOT NULL,
  org_id text NOT NULL,
  maker_id text NOT NULL,
  hash bytea NOT NULL,
  scopes text[] NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  end_user text,
  tags text[] DEFAULT '{}'::text[] NOT NULL,
  rate_rpm integer,
  rate_burst integer,
  bound_kind text,
  bound_id text,
  CONSTRAINT client_tokens_bound_kind_check CHECK ((bound_kind = ANY (ARRAY['job'::text, 'run'::text, 'response'::text, 'agent'::text]))),
  CONSTRAINT client_tokens_check CHECK (((rate_rpm IS NULL) = (rate_burst IS NULL))),
  CONSTRAINT client_tokens_check1 CHECK (((bound_kind IS NULL) = (bound_id IS NULL))),
  CONSTRAINT client_tokens_end_user_check CHECK (((length(end_user) >= 1) AND (length(end_user) <= 256))),
  CONSTRAINT client_tokens_hash_key UNIQUE (hash),
  CONSTRAINT client_tokens_maker_id_fkey FOREIGN KEY (maker_id) REFERENCES api_keys(id) ON DELETE CASCADE,
  CONSTRAINT client_tokens_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT client_tokens_pkey PRIMARY KEY (id),
  CONSTRAINT client_tokens_rate_burst_check CHECK ((rate_burst > 0)),
  CONSTRAINT client_tokens_rate_rpm_check CHECK ((rate_rpm > 0))
);
CREATE INDEX client_tokens_maker ON public.client_tokens USING btree (maker_id);
CREATE INDEX client_tokens_org ON public.client_tokens USING btree (org_id, expires_at);
ALTER TABLE client_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE client_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY client_tokens_system ON client_tokens FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY client_tokens_tenant ON client_tokens FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON client_tokens TO penstock_system;
GRANT SELECT ON client_tokens TO penstock_tenant;

CREATE TABLE credentials (
  user_id text NOT NULL,
  password_hash text,
  vouched_by text,
  signed_in_at timestamp with time zone,
  CONSTRAINT credentials_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX credentials_voucher ON public.credentials USING btree (user_id, COALESCE(vouched_by, ''::text));
ALTER TABLE credentials ENABLE ROW LEVEL SECURITY;
ALTER TABLE credentials FORCE ROW LEVEL SECURITY;
CREATE POLICY credentials_system ON credentials FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON credentials TO penstock_system;

CREATE TABLE dead_letters (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  topic text NOT NULL,
  key text NOT NULL,
  consumer_group text NOT NULL,
  event jsonb NOT NULL,
  error text NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT dead_letters_pkey PRIMARY KEY (id)
);
ALTER TABLE dead_letters ENABLE ROW LEVEL SECURITY;
ALTER TABLE dead_letters FORCE ROW LEVEL SECURITY;
CREATE POLICY dead_letters_system ON dead_letters FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON dead_letters TO penstock_system;

CREATE TABLE event_traces (
  event_id text NOT NULL,
  traceparent text NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT event_traces_pkey PRIMARY KEY (event_id)
);
CREATE INDEX event_traces_age ON public.event_traces USING btree (created_at);
ALTER TABLE event_traces ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_traces FORCE ROW LEVEL SECURITY;
CREATE POLICY event_traces_system ON event_traces FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON event_traces TO penstock_system;

CREATE TABLE file_store (
  installation_id text NOT NULL,
  bound_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT file_store_pkey PRIMARY KEY (installation_id)
);
GRANT INSERT, SELECT ON file_store TO penstock_system;

CREATE TABLE files (
  id text NOT NULL,
  org_id text NOT NULL,
  content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  extension text NOT NULL,
  width integer,
  height integer,
  duration_seconds double precision,
  job_id text,
  run_id text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT files_pkey PRIMARY KEY (id)
);
CREATE INDEX files_job_id ON public.files USING btree (job_id) WHERE (job_id IS NOT NULL);
CREATE INDEX files_org_id ON public.files USING btree (org_id);
CREATE INDEX files_run_id ON public.files USING btree (run_id) WHERE (run_id IS NOT NULL);
ALTER TABLE files ENABLE ROW LEVEL SECURITY;
ALTER TABLE files FORCE ROW LEVEL SECURITY;
CREATE POLICY files_system ON files FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY files_tenant ON files FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON files TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON files TO penstock_tenant;
CREATE TRIGGER files_gone AFTER DELETE ON public.files REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION penstock_files_gone();
CREATE TRIGGER files_stored AFTER INSERT ON public.files REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION penstock_files_stored();

CREATE TABLE idempotency_keys (
  id text NOT NULL,
  org_id text NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  state text DEFAULT 'in_flight'::text NOT NULL,
  process_id text,
  job_ids text[] DEFAULT '{}'::text[] NOT NULL,
  scopes text[] DEFAULT '{}'::text[] NOT NULL,
  status integer,
  headers jsonb,
  body bytea,
  made bytea,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT idempotency_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT idempotency_keys_org_id_key_key UNIQUE (org_id, key),
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (id),
  CONSTRAINT idempotency_keys_state_check CHECK ((state = ANY (ARRAY['in_flight'::text, 'done'::text])))
);
CREATE INDEX idempotency_keys_created ON public.idempotency_keys USING btree (created_at);
ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY idempotency_keys_system ON idempotency_keys FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY idempotency_keys_tenant ON idempotency_keys FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON idempotency_keys TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON idempotency_keys TO penstock_tenant;
CREATE TRIGGER idempotency_answers_gone AFTER DELETE ON public.idempotency_keys REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION penstock_answers_gone();
CREATE TRIGGER idempotency_answers_kept AFTER UPDATE ON public.idempotency_keys REFERENCING OLD TABLE AS gone NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION penstock_answers_kept();

CREATE TABLE installation (
  only_one boolean DEFAULT true NOT NULL,
  id text NOT NULL,
  signing_secret text,
  kafka boolean DEFAULT false NOT NULL,
  webhook_plans text[],
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  public_url text,
  ledger_dropped_before text COLLATE "C",
  CONSTRAINT installation_only_one_check CHECK (only_one),
  CONSTRAINT installation_pkey PRIMARY KEY (only_one)
);
GRANT SELECT, UPDATE ON installation TO penstock_system;

CREATE TABLE job_events (
  job_id text NOT NULL,
  org_id text NOT NULL,
  sequence integer NOT NULL,
  type text NOT NULL,
  status text NOT NULL,
  progress integer NOT NULL,
  attempt integer NOT NULL,
  fence integer NOT NULL,
  started_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  xact xid8 DEFAULT pg_current_xact_id() NOT NULL,
  CONSTRAINT job_events_pkey PRIMARY KEY (job_id, sequence)
);
CREATE INDEX job_events_by_xact ON public.job_events USING btree (org_id, xact);
ALTER TABLE job_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_events FORCE ROW LEVEL SECURITY;
CREATE POLICY job_events_system ON job_events FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY job_events_tenant ON job_events FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON job_events TO penstock_system;
GRANT SELECT ON job_events TO penstock_tenant;

CREATE UNLOGGED TABLE job_parts (
  job_id text NOT NULL,
  org_id text NOT NULL,
  fence integer NOT NULL,
  number integer NOT NULL,
  bytes bytea STORAGE EXTERNAL NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT job_parts_pkey PRIMARY KEY (job_id, fence, number)
);
CREATE INDEX job_parts_by_age ON public.job_parts USING btree (created_at);
ALTER TABLE job_parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_parts FORCE ROW LEVEL SECURITY;
CREATE POLICY job_parts_system ON job_parts FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY job_parts_tenant ON job_parts FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON job_parts TO penstock_system;
GRANT SELECT ON job_parts TO penstock_tenant;

CREATE TABLE job_turns (
  tool text NOT NULL,
  org_id text NOT NULL,
  served bigint NOT NULL,
  CONSTRAINT job_turns_pkey PRIMARY KEY (tool, org_id)
) WITH (fillfactor=70);
ALTER TABLE job_turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_turns FORCE ROW LEVEL SECURITY;
CREATE POLICY job_turns_system ON job_turns FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON job_turns TO penstock_system;

CREATE TABLE jobs (
  id text NOT NULL,
  org_id text NOT NULL,
  user_id text NOT NULL,
  key_id text NOT NULL,
  tool text NOT NULL,
  status text DEFAULT 'pending'::text NOT NULL,
  progress integer DEFAULT 0 NOT NULL,
  input_params jsonb NOT NULL,
  output_data jsonb,
  result jsonb,
  estimated_credits double precision NOT NULL,
  actual_credits double precision,
  error_message text,
  error_code text,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  model text NOT NULL,
  model_tier text NOT NULL,
  multiplier integer NOT NULL,
  operation_id text NOT NULL,
  request_id text NOT NULL,
  client jsonb NOT NULL,
  attempt integer DEFAULT 0 NOT NULL,
  fence integer DEFAULT 0 NOT NULL,
  sequence integer DEFAULT 1 NOT NULL,
  worker_id text,
  lease_until timestamp with time zone,
  deadline timestamp with time zone,
  orders jsonb,
  spent jsonb,
  counted_for jsonb,
  live jsonb,
  CONSTRAINT jobs_check CHECK (((status = 'processing'::text) = ((worker_id IS NOT NULL) AND (lease_until IS NOT NULL)))),
  CONSTRAINT jobs_check1 CHECK (((status = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text])) = (completed_at IS NOT NULL))),
  CONSTRAINT jobs_check2 CHECK (((status <> 'completed'::text) OR ((progress = 100) AND (output_data IS NOT NULL) AND (actual_credits IS NOT NULL)))),
  CONSTRAINT jobs_check3 CHECK (((status <> 'failed'::text) OR (error_message IS NOT NULL))),
  CONSTRAINT jobs_operation_id_key UNIQUE (operation_id),
  CONSTRAINT jobs_pkey PRIMARY KEY (id),
  CONSTRAINT jobs_progress_check CHECK (((progress >= 0) AND (progress <= 100))),
  CONSTRAINT jobs_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'completed'::text, 'failed'::text, 'cancelled'::text]))),
  CONSTRAINT jobs_tool_check CHECK ((tool = ANY (ARRAY['image'::text, 'image_edit'::text, 'video'::text, 'music'::text, 'tts'::text, 'stt'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.05, fillfactor=80);
CREATE INDEX jobs_by_org ON public.jobs USING btree (org_id, id);
CREATE INDEX jobs_by_org_tool ON public.jobs USING btree (org_id, tool, id);
CREATE INDEX jobs_finished ON public.jobs USING btree (completed_at) WHERE (completed_at IS NOT NULL);
CREATE INDEX jobs_leases ON public.jobs USING btree (lease_until) WHERE (status = 'processing'::text);
CREATE INDEX jobs_open ON public.jobs USING btree (org_id, id) WHERE (status = ANY (ARRAY['pending'::text, 'processing'::text]));
CREATE INDEX jobs_orders_left ON public.jobs USING btree (completed_at) WHERE ((orders IS NOT NULL) AND (status = ANY (ARRAY['cancelled'::text, 'failed'::text])));
CREATE INDEX jobs_queue ON public.jobs USING btree (tool, org_id, id) WHERE (status = 'pending'::text);
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY jobs_system ON jobs FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY jobs_tenant ON jobs FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON jobs TO penstock_system;
GRANT SELECT ON jobs TO penstock_tenant;
CREATE TRIGGER jobs_forget_events AFTER DELETE ON public.jobs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION penstock_job_events_forget();

CREATE TABLE knowledge_chunks (
  file_id text NOT NULL,
  org_id text NOT NULL,
  agent_id text NOT NULL,
  "position" integer NOT NULL,
  text text NOT NULL,
  search tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, text)) STORED,
  embedding bytea,
  CONSTRAINT knowledge_chunks_file_id_fkey FOREIGN KEY (file_id) REFERENCES knowledge_files(id) ON DELETE CASCADE,
  CONSTRAINT knowledge_chunks_pkey PRIMARY KEY (file_id, "position")
);
CREATE INDEX knowledge_chunks_agent ON public.knowledge_chunks USING btree (org_id, agent_id);
CREATE INDEX knowledge_chunks_search ON public.knowledge_chunks USING gin (search) WITH (fastupdate=off);
ALTER TABLE knowledge_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE knowledge_chunks FORCE ROW LEVEL SECURITY;
CREATE POLICY knowledge_chunks_system ON knowledge_chunks FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY knowledge_chunks_tenant ON knowledge_chunks FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON knowledge_chunks TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON knowledge_chunks TO penstock_tenant;

CREATE TABLE knowledge_files (
  id text NOT NULL,
  org_id text NOT NULL,
  agent_id text NOT NULL,
  file_id text NOT NULL,
  filename text NOT NULL,
  content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  status text DEFAULT 'pending'::text NOT NULL,
  error_message text,
  chunk_count integer DEFAULT 0 NOT NULL,
  attempt integer DEFAULT 0 NOT NULL,
  fence integer DEFAULT 0 NOT NULL,
  worker_id text,
  lease_until timestamp with time zone,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT knowledge_files_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT knowledge_files_pkey PRIMARY KEY (id),
  CONSTRAINT knowledge_files_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'completed'::text, 'failed'::text])))
);
CREATE INDEX knowledge_files_agent ON public.knowledge_files USING btree (org_id, agent_id, id);
CREATE INDEX knowledge_files_open ON public.knowledge_files USING btree (created_at) WHERE (status = ANY (ARRAY['pending'::text, 'processing'::text]));
ALTER TABLE knowledge_files ENABLE ROW LEVEL SECURITY;
ALTER TABLE knowledge_files FORCE ROW LEVEL SECURITY;
CREATE POLICY knowledge_files_system ON knowledge_files FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY knowledge_files_tenant ON knowledge_files FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON knowledge_files TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON knowledge_files TO penstock_tenant;

CREATE TABLE members (
  org_id text NOT NULL,
  user_id text NOT NULL,
  role text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT members_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT members_pkey PRIMARY KEY (org_id, user_id),
  CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text]))),
  CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX members_user ON public.members USING btree (user_id);
ALTER TABLE members ENABLE ROW LEVEL SECURITY;
ALTER TABLE members FORCE ROW LEVEL SECURITY;
CREATE POLICY members_system ON members FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY members_tenant ON members FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON members TO penstock_system;
GRANT SELECT ON members TO penstock_tenant;

CREATE TABLE operators (
  user_id text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT operators_pkey PRIMARY KEY (user_id),
  CONSTRAINT operators_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
ALTER TABLE operators ENABLE ROW LEVEL SECURITY;
ALTER TABLE operators FORCE ROW LEVEL SECURITY;
CREATE POLICY operators_system ON operators FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON operators TO penstock_system;

CREATE TABLE organizations (
  id text NOT NULL,
  name text NOT NULL,
  plan_code text NOT NULL,
  subscription_id text,
  subscription_status text DEFAULT 'none'::text NOT NULL,
  anchor_at timestamp with time zone DEFAULT date_trunc('milliseconds'::text, now()) NOT NULL,
  subscription_ends_at timestamp with time zone,
  version bigint DEFAULT 1 NOT NULL,
  service_user_id text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT organizations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  CONSTRAINT organizations_pkey PRIMARY KEY (id),
  CONSTRAINT organizations_subscription_status_check CHECK ((subscription_status = ANY (ARRAY['none'::text, 'active'::text, 'cancelled'::text])))
);
CREATE INDEX organizations_name ON public.organizations USING btree (name);
ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
ALTER TABLE organizations FORCE ROW LEVEL SECURITY;
CREATE POLICY organizations_system ON organizations FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY organizations_tenant ON organizations FOR ALL TO penstock_tenant USING ((id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON organizations TO penstock_system;
GRANT SELECT ON organizations TO penstock_tenant;

CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  topic text NOT NULL,
  key text NOT NULL,
  event jsonb NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT outbox_pkey PRIMARY KEY (id),
  CONSTRAINT outbox_topic_check CHECK ((topic = ANY (ARRAY['jobs'::text, 'agents'::text, 'responses'::text, 'events'::text])))
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, fillfactor=70);
ALTER TABLE outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE outbox FORCE ROW LEVEL SECURITY;
CREATE POLICY outbox_system ON outbox FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON outbox TO penstock_system;
CREATE TRIGGER outbox_webhooks AFTER INSERT ON public.outbox FOR EACH ROW WHEN ((new.topic = 'events'::text)) EXECUTE FUNCTION penstock_webhook_fan_out();

CREATE TABLE outbox_publisher (
  single boolean DEFAULT true NOT NULL,
  holder text,
  until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
  CONSTRAINT outbox_publisher_pkey PRIMARY KEY (single),
  CONSTRAINT outbox_publisher_single_check CHECK (single)
);
ALTER TABLE outbox_publisher ENABLE ROW LEVEL SECURITY;
ALTER TABLE outbox_publisher FORCE ROW LEVEL SECURITY;
CREATE POLICY outbox_publisher_system ON outbox_publisher FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON outbox_publisher TO penstock_system;

CREATE TABLE processes (
  id text COLLATE "C" NOT NULL,
  role text NOT NULL,
  lease_until timestamp with time zone NOT NULL,
  started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT processes_pkey PRIMARY KEY (id)
);
GRANT DELETE, INSERT, SELECT, UPDATE ON processes TO penstock_system;

CREATE UNLOGGED TABLE rate_windows (
  key_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  grain integer NOT NULL,
  fill integer DEFAULT 0 NOT NULL,
  stamps bigint[] STORAGE MAIN NOT NULL,
  CONSTRAINT rate_windows_pkey PRIMARY KEY (key_id, name)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, fillfactor=25, toast_tuple_target=8160);
GRANT DELETE, INSERT, SELECT, UPDATE ON rate_windows TO penstock_system;

CREATE TABLE response_events (
  response_id text COLLATE "C" NOT NULL,
  org_id text NOT NULL,
  first integer NOT NULL,
  last integer NOT NULL,
  events text[] NOT NULL,
  CONSTRAINT response_events_pkey PRIMARY KEY (response_id, last)
);
ALTER TABLE response_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE response_events FORCE ROW LEVEL SECURITY;
CREATE POLICY response_events_system ON response_events FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY response_events_tenant ON response_events FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON response_events TO penstock_system;
GRANT DELETE, SELECT ON response_events TO penstock_tenant;

CREATE TABLE responses (
  id text NOT NULL,
  org_id text NOT NULL,
  key_id text NOT NULL,
  user_id text NOT NULL,
  status text NOT NULL,
  model text NOT NULL,
  previous_id text,
  response text NOT NULL,
  input text NOT NULL,
  item_ids text[] NOT NULL,
  kind text DEFAULT 'response'::text NOT NULL,
  request text,
  request_id text,
  client jsonb,
  prompt_tokens integer,
  max_tokens integer,
  idempotency_key text,
  fingerprint text,
  sequence integer DEFAULT 0 NOT NULL,
  event_bytes bigint DEFAULT 0 NOT NULL,
  cancelling boolean DEFAULT false NOT NULL,
  fence integer DEFAULT 0 NOT NULL,
  worker_id text,
  lease_until timestamp with time zone,
  upstream_model text,
  upstream_id text,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT responses_kind_check CHECK ((kind = ANY (ARRAY['response'::text, 'chat'::text]))),
  CONSTRAINT responses_pkey PRIMARY KEY (id),
  CONSTRAINT responses_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'in_progress'::text, 'completed'::text, 'incomplete'::text, 'failed'::text, 'cancelled'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.05);
CREATE INDEX responses_by_age ON public.responses USING btree (created_at);
CREATE UNIQUE INDEX responses_by_key ON public.responses USING btree (org_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX responses_by_org ON public.responses USING btree (org_id, id);
CREATE INDEX responses_items ON public.responses USING gin (item_ids);
CREATE INDEX responses_queue ON public.responses USING btree (org_id, id) WHERE ((status = ANY (ARRAY['queued'::text, 'in_progress'::text])) AND (worker_id IS NULL));
CREATE INDEX responses_worked ON public.responses USING btree (org_id, id) WHERE ((status = ANY (ARRAY['queued'::text, 'in_progress'::text])) AND (worker_id IS NOT NULL) AND (request <> ''::text));
ALTER TABLE responses ENABLE ROW LEVEL SECURITY;
ALTER TABLE responses FORCE ROW LEVEL SECURITY;
CREATE POLICY responses_system ON responses FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY responses_tenant ON responses FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON responses TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON responses TO penstock_tenant;
CREATE TRIGGER responses_gone AFTER DELETE ON public.responses REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION penstock_responses_gone();
CREATE TRIGGER responses_kept AFTER INSERT ON public.responses REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION penstock_responses_kept();

CREATE TABLE sessions (
  id text NOT NULL,
  user_id text NOT NULL,
  hash bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  revoked_at timestamp with time zone,
  vouched_by text[],
  CONSTRAINT sessions_hash_key UNIQUE (hash),
  CONSTRAINT sessions_pkey PRIMARY KEY (id),
  CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX sessions_user ON public.sessions USING btree (user_id);
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY sessions_system ON sessions FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON sessions TO penstock_system;

CREATE TABLE sign_in_failures (
  email_hash bytea NOT NULL,
  failures integer NOT NULL,
  failed_at timestamp with time zone NOT NULL,
  CONSTRAINT sign_in_failures_pkey PRIMARY KEY (email_hash)
);
CREATE INDEX sign_in_failures_time ON public.sign_in_failures USING btree (failed_at);
ALTER TABLE sign_in_failures ENABLE ROW LEVEL SECURITY;
ALTER TABLE sign_in_failures FORCE ROW LEVEL SECURITY;
CREATE POLICY sign_in_failures_system ON sign_in_failures FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON sign_in_failures TO penstock_system;

CREATE TABLE sign_in_links (
  hash bytea NOT NULL,
  user_id text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  vouched_by text,
  CONSTRAINT sign_in_links_pkey PRIMARY KEY (hash),
  CONSTRAINT sign_in_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX sign_in_links_user ON public.sign_in_links USING btree (user_id);
ALTER TABLE sign_in_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE sign_in_links FORCE ROW LEVEL SECURITY;
CREATE POLICY sign_in_links_system ON sign_in_links FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON sign_in_links TO penstock_system;

CREATE TABLE spoken_texts (
  job_id text NOT NULL,
  org_id text NOT NULL,
  text text NOT NULL,
  seconds double precision NOT NULL,
  print bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT spoken_texts_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE,
  CONSTRAINT spoken_texts_pkey PRIMARY KEY (job_id)
);
CREATE INDEX spoken_texts_newest ON public.spoken_texts USING btree (org_id, created_at DESC);
ALTER TABLE spoken_texts ENABLE ROW LEVEL SECURITY;
ALTER TABLE spoken_texts FORCE ROW LEVEL SECURITY;
CREATE POLICY spoken_texts_tenant ON spoken_texts FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON spoken_texts TO penstock_tenant;

CREATE TABLE stored_bytes (
  org_id text NOT NULL,
  part smallint NOT NULL,
  bytes bigint DEFAULT 0 NOT NULL,
  items bigint DEFAULT 0 NOT NULL,
  CONSTRAINT stored_bytes_pkey PRIMARY KEY (org_id, part)
) WITH (fillfactor=50);
ALTER TABLE stored_bytes ENABLE ROW LEVEL SECURITY;
ALTER TABLE stored_bytes FORCE ROW LEVEL SECURITY;
CREATE POLICY stored_bytes_system ON stored_bytes FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY stored_bytes_tenant ON stored_bytes FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON stored_bytes TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON stored_bytes TO penstock_tenant;

CREATE TABLE trusted_documents (
  name text COLLATE "C" NOT NULL,
  body text NOT NULL,
  published_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT trusted_documents_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  CONSTRAINT trusted_documents_pkey PRIMARY KEY (name)
);
CREATE INDEX trusted_documents_published ON public.trusted_documents USING btree (published_at);
GRANT INSERT, SELECT ON trusted_documents TO penstock_system;

CREATE TABLE upload_parts (
  id text NOT NULL,
  org_id text NOT NULL,
  file_id text NOT NULL,
  starts bigint NOT NULL,
  size_bytes bigint NOT NULL,
  taken boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT upload_parts_pkey PRIMARY KEY (id)
);
CREATE INDEX upload_parts_file ON public.upload_parts USING btree (file_id, starts);
ALTER TABLE upload_parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE upload_parts FORCE ROW LEVEL SECURITY;
CREATE POLICY upload_parts_system ON upload_parts FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY upload_parts_tenant ON upload_parts FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON upload_parts TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON upload_parts TO penstock_tenant;

CREATE TABLE uploads (
  file_id text NOT NULL,
  org_id text NOT NULL,
  purpose text NOT NULL,
  received bigint DEFAULT 0 NOT NULL,
  parts integer DEFAULT 0 NOT NULL,
  finished_at timestamp with time zone,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT uploads_file_id_fkey FOREIGN KEY (file_id) REFERENCES files(id) ON DELETE CASCADE,
  CONSTRAINT uploads_pkey PRIMARY KEY (file_id),
  CONSTRAINT uploads_purpose_check CHECK ((purpose = ANY (ARRAY['input'::text, 'knowledge'::text])))
);
ALTER TABLE uploads ENABLE ROW LEVEL SECURITY;
ALTER TABLE uploads FORCE ROW LEVEL SECURITY;
CREATE POLICY uploads_system ON uploads FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY uploads_tenant ON uploads FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON uploads TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON uploads TO penstock_tenant;

CREATE TABLE usage_cells (
  org_id text COLLATE "C" NOT NULL,
  start timestamp with time zone NOT NULL,
  period_start timestamp with time zone NOT NULL,
  model text,
  provider text,
  key_id text,
  end_user text,
  operation text NOT NULL,
  status text,
  tags text[] NOT NULL,
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  unpriced bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  cost_nano bigint NOT NULL,
  latency numeric NOT NULL,
  credits bigint NOT NULL,
  chat_tokens bigint NOT NULL,
  image_generations bigint NOT NULL,
  image_edits bigint NOT NULL,
  video_seconds bigint NOT NULL,
  stt_seconds bigint NOT NULL,
  tts_chars bigint NOT NULL,
  music_tracks bigint NOT NULL,
  agent_runs bigint NOT NULL
);
CREATE INDEX usage_cells_by_end_user ON public.usage_cells USING btree (org_id, end_user, start) WHERE (end_user IS NOT NULL);
CREATE INDEX usage_cells_by_start ON public.usage_cells USING btree (org_id, start);
ALTER TABLE usage_cells ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_cells FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_cells_system ON usage_cells FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY usage_cells_tenant ON usage_cells FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON usage_cells TO penstock_system;
GRANT SELECT ON usage_cells TO penstock_tenant;

CREATE TABLE usage_folds (
  org_id text COLLATE "C" NOT NULL,
  sequence bigint DEFAULT 0 NOT NULL,
  folded_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
  whole_until timestamp with time zone[] DEFAULT array_fill('1970-01-01 00:00:00+00'::timestamp with time zone, ARRAY[4]) NOT NULL,
  CONSTRAINT usage_folds_pkey PRIMARY KEY (org_id)
);
ALTER TABLE usage_folds ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_folds FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_folds_system ON usage_folds FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY usage_folds_tenant ON usage_folds FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON usage_folds TO penstock_system;
GRANT SELECT ON usage_folds TO penstock_tenant;

CREATE TABLE usage_ledger (
  operation_id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  key_id text,
  user_id text,
  kind text NOT NULL,
  state text NOT NULL,
  swept boolean DEFAULT false NOT NULL,
  period_start timestamp with time zone NOT NULL,
  reserved bigint[] NOT NULL,
  charged bigint[],
  granted bigint[],
  given boolean,
  correction text,
  restored boolean,
  model text,
  request_id text,
  job_id text,
  run_id text,
  holder text COLLATE "C",
  service_client text,
  client_name text,
  user_agent text,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  settled_at timestamp with time zone,
  end_user text,
  tags text[] DEFAULT '{}'::text[] NOT NULL,
  parent text,
  answered_model text,
  provider text,
  upstream_id text,
  status text,
  error_code text,
  latency_ms integer,
  first_token_ms integer,
  tokens bigint[],
  cost_nano bigint,
  cost_version text,
  reserved_nano bigint,
  counters bigint[],
  sequence bigint,
  opening jsonb,
  CONSTRAINT usage_ledger_pkey PRIMARY KEY (operation_id),
  CONSTRAINT usage_ledger_state_check CHECK ((state = ANY (ARRAY['reserved'::text, 'settled'::text, 'released'::text]))),
  CONSTRAINT usage_ledger_status_check CHECK ((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])))
) PARTITION BY RANGE (operation_id);
CREATE INDEX usage_ledger_by_org ON ONLY public.usage_ledger USING btree (org_id, created_at, operation_id);
CREATE INDEX usage_ledger_by_sequence ON ONLY public.usage_ledger USING btree (org_id, sequence) WHERE (sequence IS NOT NULL);
CREATE INDEX usage_ledger_open ON ONLY public.usage_ledger USING btree (holder) WHERE (state = 'reserved'::text);
ALTER TABLE usage_ledger ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_ledger FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_ledger_system ON usage_ledger FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY usage_ledger_tenant ON usage_ledger FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON usage_ledger TO penstock_system;
GRANT SELECT ON usage_ledger TO penstock_tenant;

CREATE TABLE usage_ledger_default (
  operation_id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  key_id text,
  user_id text,
  kind text NOT NULL,
  state text NOT NULL,
  swept boolean DEFAULT false NOT NULL,
  period_start timestamp with time zone NOT NULL,
  reserved bigint[] NOT NULL,
  charged bigint[],
  granted bigint[],
  given boolean,
  correction text,
  restored boolean,
  model text,
  request_id text,
  job_id text,
  run_id text,
  holder text COLLATE "C",
  service_client text,
  client_name text,
  user_agent text,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  settled_at timestamp with time zone,
  end_user text,
  tags text[] DEFAULT '{}'::text[] NOT NULL,
  parent text,
  answered_model text,
  provider text,
  upstream_id text,
  status text,
  error_code text,
  latency_ms integer,
  first_token_ms integer,
  tokens bigint[],
  cost_nano bigint,
  cost_version text,
  reserved_nano bigint,
  counters bigint[],
  sequence bigint,
  opening jsonb,
  CONSTRAINT usage_ledger_default_pkey PRIMARY KEY (operation_id),
  CONSTRAINT usage_ledger_state_check CHECK ((state = ANY (ARRAY['reserved'::text, 'settled'::text, 'released'::text]))),
  CONSTRAINT usage_ledger_status_check CHECK ((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])))
) WITH (fillfactor=80);
CREATE INDEX usage_ledger_default_holder_idx ON public.usage_ledger_default USING btree (holder) WHERE (state = 'reserved'::text);
CREATE INDEX usage_ledger_default_org_id_created_at_operation_id_idx ON public.usage_ledger_default USING btree (org_id, created_at, operation_id);
CREATE INDEX usage_ledger_default_org_id_sequence_idx ON public.usage_ledger_default USING btree (org_id, sequence) WHERE (sequence IS NOT NULL);
ALTER TABLE usage_ledger_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_ledger_default FORCE ROW LEVEL SECURITY;

CREATE TABLE usage_published (
  org_id text COLLATE "C" NOT NULL,
  sequence bigint DEFAULT 0 NOT NULL,
  published_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT usage_published_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT usage_published_pkey PRIMARY KEY (org_id)
);
ALTER TABLE usage_published ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_published FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_published_system ON usage_published FOR ALL TO penstock_system USING (true) WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON usage_published TO penstock_system;

CREATE TABLE usage_rollups (
  org_id text COLLATE "C" NOT NULL,
  level smallint NOT NULL,
  dims smallint NOT NULL,
  start timestamp with time zone NOT NULL,
  model text,
  provider text,
  key_id text,
  end_user text,
  operation text,
  status text,
  tag text,
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  unpriced bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  cost_nano bigint NOT NULL,
  latency numeric NOT NULL,
  credits bigint NOT NULL,
  chat_tokens bigint NOT NULL,
  image_generations bigint NOT NULL,
  image_edits bigint NOT NULL,
  video_seconds bigint NOT NULL,
  stt_seconds bigint NOT NULL,
  tts_chars bigint NOT NULL,
  music_tracks bigint NOT NULL,
  agent_runs bigint NOT NULL,
  CONSTRAINT usage_rollups_level_check CHECK ((level = ANY (ARRAY[1, 2, 3, 4])))
);
CREATE INDEX usage_rollups_by_start ON public.usage_rollups USING btree (org_id, level, dims, start, model, provider, key_id, operation, status, tag, end_user);
ALTER TABLE usage_rollups ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_rollups FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_rollups_system ON usage_rollups FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY usage_rollups_tenant ON usage_rollups FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON usage_rollups TO penstock_system;
GRANT SELECT ON usage_rollups TO penstock_tenant;

CREATE TABLE users (
  id text NOT NULL,
  org_id text,
  email text,
  kind text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT users_check CHECK (((kind = 'service'::text) = (org_id IS NOT NULL))),
  CONSTRAINT users_kind_check CHECK ((kind = ANY (ARRAY['service'::text, 'person'::text]))),
  CONSTRAINT users_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT users_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX users_email ON public.users USING btree (lower(email));
CREATE INDEX users_org ON public.users USING btree (org_id);
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY users_system ON users FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY users_tenant ON users FOR SELECT TO penstock_tenant USING (((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)) OR (EXISTS ( SELECT 1
   FROM members
  WHERE ((members.user_id = users.id) AND (members.org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)))))));
GRANT DELETE, INSERT, SELECT, UPDATE ON users TO penstock_system;
GRANT SELECT ON users TO penstock_tenant;

CREATE TABLE webhook_deliveries (
  id text NOT NULL,
  org_id text NOT NULL,
  webhook_id text NOT NULL,
  event_id text NOT NULL,
  event_type text NOT NULL,
  status text DEFAULT 'pending'::text NOT NULL,
  attempts jsonb DEFAULT '[]'::jsonb NOT NULL,
  scheduled_attempts integer DEFAULT 0 NOT NULL,
  next_attempt_at timestamp with time zone,
  claimed_until timestamp with time zone,
  claim text,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT webhook_deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES webhook_events(id) ON DELETE CASCADE,
  CONSTRAINT webhook_deliveries_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text]))),
  CONSTRAINT webhook_deliveries_webhook_id_event_id_key UNIQUE (webhook_id, event_id),
  CONSTRAINT webhook_deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE
) WITH (fillfactor=80);
CREATE INDEX webhook_deliveries_claimed ON public.webhook_deliveries USING btree (webhook_id) WHERE (claim IS NOT NULL);
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (webhook_id, next_attempt_at) WHERE (status = 'pending'::text);
CREATE INDEX webhook_deliveries_event ON public.webhook_deliveries USING btree (event_id);
CREATE INDEX webhook_deliveries_list ON public.webhook_deliveries USING btree (webhook_id, id);
ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY webhook_deliveries_system ON webhook_deliveries FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY webhook_deliveries_tenant ON webhook_deliveries FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON webhook_deliveries TO penstock_system;
GRANT SELECT ON webhook_deliveries TO penstock_tenant;

CREATE TABLE webhook_events (
  id text NOT NULL,
  org_id text NOT NULL,
  type text NOT NULL,
  event jsonb NOT NULL,
  missed_by text[] DEFAULT '{}'::text[] NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT webhook_events_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT webhook_events_pkey PRIMARY KEY (id)
);
CREATE INDEX webhook_events_age ON public.webhook_events USING btree (created_at);
CREATE INDEX webhook_events_org ON public.webhook_events USING btree (org_id, created_at);
ALTER TABLE webhook_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_events FORCE ROW LEVEL SECURITY;
CREATE POLICY webhook_events_system ON webhook_events FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY webhook_events_tenant ON webhook_events FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON webhook_events TO penstock_system;
GRANT SELECT ON webhook_events TO penstock_tenant;

CREATE TABLE webhooks (
  id text NOT NULL,
  org_id text NOT NULL,
  name text NOT NULL,
  url text NOT NULL,
  events text[] NOT NULL,
  enabled boolean NOT NULL,
  format text DEFAULT 'json'::text NOT NULL,
  custom_headers jsonb DEFAULT '{}'::jsonb NOT NULL,
  secret bytea NOT NULL,
  next_secret bytea,
  rotates_at timestamp with time zone,
  consecutive_failures integer DEFAULT 0 NOT NULL,
  failure_times timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
  failures_after timestamp with time zone,
  disabled_reason text,
  last_delivery_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT webhooks_format_check CHECK ((format = ANY (ARRAY['json'::text, 'slack'::text]))),
  CONSTRAINT webhooks_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT webhooks_pkey PRIMARY KEY (id)
);
CREATE INDEX webhooks_org ON public.webhooks USING btree (org_id, id);
ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhooks FORCE ROW LEVEL SECURITY;
CREATE POLICY webhooks_system ON webhooks FOR ALL TO penstock_system USING (true) WITH CHECK (true);
CREATE POLICY webhooks_tenant ON webhooks FOR ALL TO penstock_tenant USING ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text))) WITH CHECK ((org_id = NULLIF(current_setting('penstock.org_id'::text, true), ''::text)));
GRANT DELETE, INSERT, SELECT, UPDATE ON webhooks TO penstock_system;
GRANT DELETE, INSERT, SELECT, UPDATE ON webhooks TO penstock_tenant;

CREATE OR REPLACE FUNCTION public.penstock_admit(p_holder text, p_callers admission_caller[], p_windows admission_window[], p_orgs admission_org[], p_counters admission_counter[], p_profiles admission_profile[], p_requests admission_request[])
 RETURNS text
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
  answer text := '';
  org_period timestamptz[] := '{}';
  began timestamptz;
  f admission_profile;
  counter_ids bigint[];
  -- By profile: its counters' ids as an array, as text. Empty if the batch has none.
  profile_counters text[] := '{}';
  c admission_caller;
  w admission_window;
  o admission_org;
  r record;
BEGIN
  -- An assignment, because PERFORM would be an additional statement.
  answer := left(set_config('synchronous_commit', 'off', true), 0);
  BEGIN
    FOREACH c IN ARRAY p_callers LOOP
      IF NOT EXISTS (SELECT 1 FROM api_keys q JOIN organizations g ON g.id = q.org_id
          WHERE q.id = c.key_id AND q.revoked_at IS NULL AND (q.expires_at IS NULL OR q.expires_at > clock_timestamp())
            AND g.version = c.version AND (g.subscription_status = 'cancelled' AND COALESCE(g.subscription_ends_at <= clock_timestamp(), false)) = c.ended) THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
    END LOOP;
    FOREACH w IN ARRAY p_windows LOOP
      r := penstock_window_take(w.key_id, w.name, w.grain, w.stamps, w.length_us, w.wanted);
      IF r.slots IS NULL THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
      answer := answer || CASE WHEN answer = '' THEN '[' ELSE ',[' END || r.slots || ',' || r.gains_at || ',' || r.now_us || ']';
    END LOOP;
    FOREACH o IN ARRAY p_orgs LOOP
      -- One guarded update: adds the batch's amounts if all of them fit, else changes nothing.
      IF 0 = ALL (o.wanted[3:]) THEN
        -- Chat and embeddings: only credits and their token view.
        UPDATE balances b SET reserved[1] = b.reserved[1] + o.wanted[1], reserved[2] = b.reserved[2] + o.wanted[2]
          WHERE b.org_id = o.id AND NOT b.superseded AND b.period_end > clock_timestamp()
            AND b.org_version <= o.version AND b.allowance = o.allowance
            AND (b.allowance[1] = -1
              OR b.allowance[1] + b.topup_start[1] + b.topup_added[1] - b.used[1] - b.reserved[1] >= o.wanted[1])
          RETURNING b.period_start INTO began;
      ELSE
        UPDATE balances b SET reserved = ARRAY(
            SELECT v.reserved + v.wanted FROM unnest(b.reserved, o.wanted) WITH ORDINALITY v (reserved, wanted, nth) ORDER BY v.nth)
          WHERE b.org_id = o.id AND NOT b.superseded AND b.period_end > clock_timestamp()
            AND b.org_version <= o.version AND b.allowance = o.allowance
            AND NOT EXISTS (
              SELECT 1 FROM unnest(o.wanted, penstock_available(b)) WITH ORDINALITY v (wanted, available, nth)
              WHERE v.wanted <> 0 AND v.wanted > v.available AND v.nth <> 2)
          RETURNING b.period_start INTO began;
      END IF;
      IF NOT FOUND THEN
        RAISE EXCEPTION SQLSTATE 'PM001';
      END IF;
      org_period := org_period || began;
    END LOOP;
    IF cardinality(p_counters) > 0 THEN
      counter_ids := penstock_budget_reserve(p_counters);
      FOREACH f IN ARRAY p_profiles LOOP
        profile_counters := profile_counters || CASE WHEN f.counters IS NOT NULL THEN
          ARRAY(SELECT counter_ids[k] FROM unnest(f.counters) k)::text END;
      END LOOP;
    END IF;
    IF cardinality(p_orgs) > 0 THEN
      INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id,
        job_id, run_id, holder, service_client, client_name, user_agent, end_user, tags, parent, reserved_nano, counters)
      SELECT request.operation_id, (p_orgs[profile.org]).id, (p_callers[profile.caller]).key_id, (p_callers[profile.caller]).user_id,
        profile.kind, 'reserved', org_period[profile.org],
        COALESCE(profile.fixed, penstock_token_vector(request.credits, request.tokens)),
        profile.model, request.request_id, request.job_id, request.run_id, p_holder, profile.service_client, profile.client_name,
        profile.user_agent, profile.end_user, profile.tags, request.parent, request.nano,
        profile_counters[profile.ordinality]::bigint[]
      FROM unnest(p_profiles) WITH ORDINALITY profile
      JOIN unnest(p_requests) request ON request.profile = profile.ordinality
      WHERE request.operation_id IS NOT NULL;
    END IF;
  EXCEPTION WHEN SQLSTATE 'PM001' OR unique_violation THEN
    RETURN penstock_admit_each(p_holder, p_callers, p_windows, p_orgs, p_counters, p_profiles, p_requests)::text;
  END;
  RETURN '{"w":[' || answer || ']}';
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_admit_each(p_holder text, p_callers admission_caller[], p_windows admission_window[], p_orgs admission_org[], p_counters admission_counter[], p_profiles admission_profile[], p_requests admission_request[])
 RETURNS json
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
  -- The caller's clock and the database's clock may disagree on whether a subscription has ended. Near the end, both
  -- answers are accepted.
  clock_skew_seconds CONSTANT int := 5;
  width CONSTANT int := cardinality(penstock_bucket_names());
  size CONSTANT int := cardinality(p_requests);
  r record;
  b balances;
  c admission_caller;
  w admission_window;
  o admission_org;
  f admission_profile;
  q admission_request;
  caller_state int[] := '{}';
  org_open boolean[] := array_fill(false, ARRAY[cardinality(p_orgs)]);
  org_period timestamptz[] := '{}';
  org_reserved bigint[] := '{}';
  avail bigint[] := '{}';
  w_slots int[] := '{}';
  w_taken int[] := array_fill(0, ARRAY[cardinality(p_windows)]);
  w_gains bigint[] := '{}';
  w_now bigint[] := '{}';
  codes int[] := array_fill(0, ARRAY[size]);
  left_x int[] := codes;
  left_y int[] := codes;
  left_z int[] := codes;
  given_credits bigint[] := array_fill(0::bigint, ARRAY[size]);
  given_tokens bigint[] := given_credits;
  covered bigint[] := given_credits;
  short_bucket int[] := codes;
  short_left bigint[] := given_credits;
  known jsonb := '{}';
  moment CONSTANT timestamptz := clock_timestamp();
  -- By counter: its id (null if it does not exist yet), the remaining amount (null if its budget refuses nothing), the
  -- amount that the batch reserves (null: nothing).
  counter_ids bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_counters)]);
  rooms bigint[] := counter_ids;
  taken bigint[] := counter_ids;
  given_nano bigint[] := array_fill(NULL::bigint, ARRAY[size]);
  exceeded jsonb := '{}';
  wants bigint[];
  counter int;
  nano bigint;
  seen text[] := '{}';
  state int;
  x int;
  y int;
  z int;
  base int;
  need bigint;
  cover bigint;
  have bigint;
  bucket int;
BEGIN
  FOREACH c IN ARRAY p_callers LOOP
    SELECT CASE WHEN k.revoked_at IS NOT NULL THEN 1 WHEN k.expires_at <= clock_timestamp() THEN 2
        WHEN g.version <> c.version OR (g.subscription_status = 'cancelled' AND COALESCE(g.subscription_ends_at <= clock_timestamp(), false)) <> c.ended
          AND NOT COALESCE(abs(date_part('epoch', g.subscription_ends_at - clock_timestamp())) < clock_skew_seconds, false) THEN 3
        ELSE 0 END
      INTO state FROM api_keys k JOIN organizations g ON g.id = k.org_id WHERE k.id = c.key_id;
    caller_state := caller_state || COALESCE(state, 1);
  END LOOP;
  FOREACH f IN ARRAY p_profiles LOOP
    IF f.org > 0 AND caller_state[f.caller] = 0 THEN
      org_open[f.org] := true;
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_windows) LOOP
    w := p_windows[i];
    IF caller_state[w.caller] = 0 THEN
      r := penstock_window_open(w.key_id, w.name, w.grain, w.stamps, w.length_us);
      w_slots[i] := r.slots;
      w_gains[i] := r.gains_at;
      w_now[i] := r.now_us;
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_orgs) LOOP
    IF org_open[i] THEN
      o := p_orgs[i];
      b := penstock_balance_open(o.id, o.version, o.allowance);
      org_open[i] := b.org_version <= o.version;
      org_period[i] := b.period_start;
      avail := avail || penstock_available(b);
      org_reserved := org_reserved || b.reserved;
    ELSE
      avail := avail || penstock_zeros();
      org_reserved := org_reserved || penstock_zeros();
    END IF;
  END LOOP;

  IF cardinality(p_counters) > 0 THEN
    FOR i IN 1 .. cardinality(p_counters) LOOP
      rooms[i] := (p_counters[i]).cap;
    END LOOP;
    FOR r IN SELECT * FROM penstock_budget_rooms(p_counters, moment) LOOP
      counter_ids[r.nth] := r.id;
      rooms[r.nth] := r.room;
    END LOOP;
  END IF;

  FOR i IN 1 .. size LOOP
    q := p_requests[i];
    f := p_profiles[q.profile];
    codes[i] := caller_state[f.caller];
    IF codes[i] = 0 AND q.operation_id IS NOT NULL THEN
      IF NOT org_open[f.org] THEN
        codes[i] := 3;
      ELSE
        SELECT jsonb_build_object(i - 1, l.reserved) AS entry INTO r FROM usage_ledger l WHERE l.operation_id = q.operation_id;
        IF FOUND THEN
          known := known || r.entry;
          codes[i] := 6;
        ELSIF q.operation_id = ANY (seen) THEN
          codes[i] := 3;
        ELSE
          seen := seen || q.operation_id;
        END IF;
      END IF;
    END IF;
    CONTINUE WHEN codes[i] IN (1, 2, 3);
    x := f.key_window;
    y := f.endpoint_window;
    z := f.own_window;
    IF x > 0 AND w_slots[x] <= 0 OR y > 0 AND w_slots[y] <= 0 OR z > 0 AND w_slots[z] <= 0 THEN
      codes[i] := 4;
      left_x[i] := w_slots[x];
      left_y[i] := w_slots[y];
      left_z[i] := w_slots[z];
      CONTINUE;
    END IF;
    IF x > 0 THEN
      w_slots[x] := w_slots[x] - 1;
      w_taken[x] := w_taken[x] + 1;
      left_x[i] := w_slots[x];
    END IF;
    IF y > 0 THEN
      w_slots[y] := w_slots[y] - 1;
      w_taken[y] := w_taken[y] + 1;
      left_y[i] := w_slots[y];
    END IF;
    IF z > 0 THEN
      w_slots[z] := w_slots[z] - 1;
      w_taken[z] := w_taken[z] + 1;
      left_z[i] := w_slots[z];
    END IF;
    CONTINUE WHEN codes[i] = 6 OR q.operation_id IS NULL;
    base := (f.org - 1) * width;
    IF f.multiplier > 0 THEN
      need := q.credits;
      cover := q.prompt + q.max;
      have := avail[base + 1];
      IF need > have THEN
        need := have / 100 * 100;
        cover := need * 1000 / f.multiplier;
        IF need < 100 OR cover < q.prompt + 1 THEN
          codes[i] := 5;
          short_bucket[i] := 2;
          short_left[i] := greatest(0, least(avail[base + 2], have * 1000));
          CONTINUE;
        END IF;
      END IF;
      wants := penstock_token_vector(need, cover * f.multiplier);
      nano := penstock_budget_nano(q, cover);
    ELSE
      FOREACH bucket IN ARRAY f.buckets LOOP
        IF f.fixed[bucket] > greatest(0, avail[base + bucket]) AND bucket <> 2 THEN
          codes[i] := 5;
          short_bucket[i] := bucket;
          short_left[i] := greatest(0, avail[base + bucket]);
          EXIT;
        END IF;
      END LOOP;
      CONTINUE WHEN codes[i] = 5;
      wants := f.fixed;
      nano := q.nano;
    END IF;
    IF f.counters IS NOT NULL THEN
      FOREACH counter IN ARRAY f.counters LOOP
        IF rooms[counter] IS NOT NULL AND penstock_budget_part((p_counters[counter]).amount, wants, nano) > greatest(0, rooms[counter]) THEN
          codes[i] := 7;
          exceeded := exceeded || jsonb_build_object(i - 1, jsonb_build_array(counter, greatest(0, rooms[counter])::text));
          EXIT;
        END IF;
      END LOOP;
      CONTINUE WHEN codes[i] = 7;
      FOREACH counter IN ARRAY f.counters LOOP
        taken[counter] := COALESCE(taken[counter], 0) + penstock_budget_part((p_counters[counter]).amount, wants, nano);
        rooms[counter] := rooms[counter] - penstock_budget_part((p_counters[counter]).amount, wants, nano);
      END LOOP;
      given_nano[i] := nano;
    END IF;
    IF f.multiplier > 0 THEN
      given_credits[i] := need;
      covered[i] := cover;
      given_tokens[i] := cover * f.multiplier;
    END IF;
    FOR k IN 1 .. CASE WHEN f.multiplier > 0 THEN 2 ELSE width END LOOP
      avail[base + k] := avail[base + k] - wants[k];
      org_reserved[base + k] := org_reserved[base + k] + wants[k];
    END LOOP;
  END LOOP;

  FOR i IN 1 .. cardinality(p_counters) LOOP
    CONTINUE WHEN taken[i] IS NULL;
    IF counter_ids[i] IS NULL THEN
      counter_ids[i] := penstock_budget_open(p_counters[i], moment, taken[i]);
    ELSE
      UPDATE budget_counters t SET reserved = t.reserved + taken[i] WHERE t.id = counter_ids[i];
    END IF;
  END LOOP;
  INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id,
      job_id, run_id, holder, service_client, client_name, user_agent, end_user, tags, parent,
      reserved_nano, counters)
    SELECT request.operation_id, (p_orgs[profile.org]).id, (p_callers[profile.caller]).key_id, (p_callers[profile.caller]).user_id,
      profile.kind, 'reserved', org_period[profile.org],
      COALESCE(profile.fixed, penstock_token_vector(given_credits[request.ordinality], given_tokens[request.ordinality])),
      profile.model, request.request_id, request.job_id, request.run_id, p_holder, profile.service_client, profile.client_name,
      profile.user_agent, profile.end_user, profile.tags, request.parent, given_nano[request.ordinality],
      CASE WHEN profile.counters IS NOT NULL THEN ARRAY(SELECT counter_ids[k] FROM unnest(profile.counters) k WHERE counter_ids[k] IS NOT NULL) END
    FROM unnest(p_profiles) WITH ORDINALITY profile
    JOIN unnest(p_requests) WITH ORDINALITY request ON request.profile = profile.ordinality
    WHERE request.operation_id IS NOT NULL AND codes[request.ordinality] = 0;
  FOR i IN 1 .. cardinality(p_orgs) LOOP
    IF org_open[i] THEN
      o := p_orgs[i];
      UPDATE balances t SET reserved = org_reserved[(i - 1) * width + 1 : i * width]
        WHERE t.org_id = o.id AND t.period_start = org_period[i];
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_windows) LOOP
    IF w_taken[i] > 0 THEN
      w := p_windows[i];
      r := penstock_window_take(w.key_id, w.name, w.grain, w.stamps, w.length_us, w_taken[i]);
      w_gains[i] := r.gains_at;
      w_now[i] := r.now_us;
    END IF;
  END LOOP;
  RETURN json_build_object('c', codes, 'x', left_x, 'y', left_y, 'z', left_z, 'g', given_credits, 'e', covered, 'b', short_bucket, 'm', short_left,
    't', w_gains, 'n', w_now, 'd', known, 'o', exceeded);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_answer_bytes(k idempotency_keys)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT COALESCE(octet_length(k.body), 0)::bigint + COALESCE(octet_length(k.made), 0)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_answers_gone()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT c.org_id, c.part, -sum(c.bytes), -count(*) FROM (
      SELECT g.org_id, 1 + (hashtext(g.key) & 7) AS part, penstock_answer_bytes(g) AS bytes FROM gone g
    ) c WHERE c.bytes > 0 GROUP BY c.org_id, c.part ORDER BY c.org_id, c.part
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_answers_kept()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT c.org_id, c.part, sum(c.bytes), sum(c.items) FROM (
      SELECT a.org_id, 1 + (hashtext(a.key) & 7) AS part, penstock_answer_bytes(a) AS bytes,
        (penstock_answer_bytes(a) > 0)::int AS items FROM added a
      UNION ALL
      SELECT g.org_id, 1 + (hashtext(g.key) & 7), -penstock_answer_bytes(g), -(penstock_answer_bytes(g) > 0)::int FROM gone g
    ) c GROUP BY c.org_id, c.part HAVING sum(c.bytes) <> 0 OR sum(c.items) <> 0 ORDER BY c.org_id, c.part
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_attach(p_operation_id text, p_job_id text, p_run_id text DEFAULT NULL::text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE usage_ledger l SET holder = NULL, job_id = COALESCE(p_job_id, l.job_id), run_id = COALESCE(p_run_id, l.run_id)
    WHERE l.operation_id = p_operation_id AND l.state = 'reserved';
  RETURN FOUND;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_available(b balances)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_agg(CASE WHEN b.allowance[l.bucket] = -1 THEN 4000000000000000
    ELSE (b.allowance[l.bucket] + b.topup_start[l.bucket] + b.topup_added[l.bucket]) * l.times - u - r END ORDER BY nth)
  FROM unnest(b.used, b.reserved) WITH ORDINALITY v (u, r, nth),
    LATERAL (SELECT CASE nth WHEN 2 THEN 1 ELSE nth END AS bucket, CASE nth WHEN 2 THEN 1000 ELSE 1 END AS times) l
$function$;

CREATE OR REPLACE FUNCTION public.penstock_balance_close(b balances, p_used bigint[], p_reserved bigint[], p_fires boolean, p_ends integer)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
BEGIN
  b.used := p_used;
  b.reserved := p_reserved;
  IF p_fires OR b.covered <> penstock_zeros() THEN
    PERFORM penstock_numbers(b.org_id, p_ends) WHERE p_ends > 0;
    RETURN penstock_balance_show(penstock_balance_write(b));
  END IF;
  UPDATE balances c SET used = p_used, reserved = p_reserved, sequence = c.sequence + p_ends
    WHERE c.org_id = b.org_id AND c.period_start = b.period_start;
  RETURN penstock_balance_show(b);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_balance_events(b balances)
 RETURNS balances
 LANGUAGE plpgsql
AS $function$
DECLARE
  names CONSTANT text[] := penstock_bucket_names();
  low boolean[] := b.low_fired;
  depleted boolean[] := b.depleted_fired;
  cap bigint;
  data jsonb;
BEGIN
  FOR k IN 1 .. cardinality(names) LOOP
    CONTINUE WHEN k = 2 OR depleted[k] OR b.allowance[k] = -1;
    cap := b.allowance[k] + b.topup_start[k] + b.topup_added[k];
    CONTINUE WHEN cap <= 0 OR (cap - b.used[k]) * 10 >= cap OR (low[k] AND cap > b.used[k]);
    data := jsonb_build_object('bucketType', names[k], 'remaining', trim_scale(greatest(0, cap - b.used[k]) / 100.0),
      'limit', trim_scale(cap / 100.0), 'percentUsed', trim_scale(round(b.used[k] * 100.0 / cap, 2)));
    IF NOT low[k] THEN
      low[k] := true;
      PERFORM penstock_emit('events', b.org_id, penstock_event('credits.low', b.org_id, data));
    END IF;
    IF cap <= b.used[k] THEN
      depleted[k] := true;
      PERFORM penstock_emit('events', b.org_id, penstock_event('credits.depleted', b.org_id, data));
    END IF;
  END LOOP;
  b.low_fired := low;
  b.depleted_fired := depleted;
  RETURN b;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_balance_json(b balances)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  SELECT json_build_object('allowance', b.allowance, 'topupStart', b.topup_start, 'topupAdded', b.topup_added, 'used', b.used,
    'reserved', b.reserved)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_balance_next(b balances, p_org_id text, p_version bigint, p_allowance bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  o record;
  begun balances;
BEGIN
  SELECT g.anchor_at, p.period_start, p.period_end INTO STRICT o
    FROM organizations g, penstock_period(g.anchor_at, clock_timestamp()) p WHERE g.id = p_org_id;
  UPDATE balances c SET superseded = true WHERE c.org_id = p_org_id AND c.period_start = b.period_start;
  INSERT INTO balances (org_id, period_start, period_end, anchor_at, org_version, allowance, topup_start, sequence)
    VALUES (p_org_id, greatest(o.period_start, b.period_end), o.period_end, o.anchor_at, p_version, p_allowance,
      COALESCE(penstock_carry(b), penstock_zeros()), COALESCE(b.sequence, 0))
    ON CONFLICT DO NOTHING RETURNING * INTO begun;
  IF FOUND THEN
    PERFORM penstock_ledger_opening(begun);
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_balance_open(p_org_id text, p_version bigint, p_allowance bigint[])
 RETURNS balances
 LANGUAGE plpgsql
AS $function$
DECLARE
  b balances;
BEGIN
  LOOP
    SELECT * INTO b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded FOR UPDATE;
    IF FOUND AND (b.org_version > p_version OR b.period_end > clock_timestamp() AND b.allowance = p_allowance) THEN
      RETURN b;
    ELSIF FOUND AND b.period_end > clock_timestamp() THEN
      b.covered := penstock_cover(b);
      b.allowance := p_allowance;
      b.org_version := p_version;
      b := penstock_balance_events(b);
      UPDATE balances c SET allowance = b.allowance, covered = b.covered, org_version = b.org_version, low_fired = b.low_fired,
        depleted_fired = b.depleted_fired WHERE c.org_id = p_org_id AND c.period_start = b.period_start;
      PERFORM penstock_ledger_opening(b);
      RETURN b;
    END IF;
    PERFORM penstock_balance_next(b, p_org_id, p_version, p_allowance);
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_balance_show(b balances)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF b.superseded THEN
    SELECT * INTO b FROM balances c WHERE c.org_id = b.org_id AND NOT c.superseded;
  END IF;
  IF b.period_end <= clock_timestamp() THEN
    b.topup_start := penstock_carry(b);
    b.topup_added := penstock_zeros();
    b.used := penstock_zeros();
    b.reserved := penstock_zeros();
  END IF;
  RETURN penstock_balance_json(b);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_balance_write(b balances)
 RETURNS balances
 LANGUAGE plpgsql
AS $function$
DECLARE
  newer balances;
  old_carry bigint[];
  new_carry bigint[];
  newer_carry bigint[];
BEGIN
  b := penstock_balance_events(b);
  IF b.covered <> penstock_zeros() THEN
    b.covered := penstock_still_covered(b);
  END IF;
  IF b.superseded THEN
    SELECT penstock_carry(c) INTO old_carry FROM balances c WHERE c.org_id = b.org_id AND c.period_start = b.period_start;
    new_carry := penstock_carry(b);
  END IF;
  UPDATE balances c SET used = b.used, reserved = b.reserved, covered = b.covered, topup_added = b.topup_added, low_fired = b.low_fired,
    depleted_fired = b.depleted_fired WHERE c.org_id = b.org_id AND c.period_start = b.period_start;
  IF old_carry IS DISTINCT FROM new_carry THEN
    FOR newer IN
      SELECT * FROM balances c WHERE c.org_id = b.org_id AND c.period_start > b.period_start ORDER BY c.period_start FOR UPDATE
    LOOP
      newer_carry := penstock_carry(newer);
      newer.topup_start := (SELECT array_agg(s + n - o ORDER BY nth)
        FROM unnest(newer.topup_start, new_carry, old_carry) WITH ORDINALITY v (s, n, o, nth));
      UPDATE balances c SET topup_start = newer.topup_start WHERE c.org_id = b.org_id AND c.period_start = newer.period_start;
      PERFORM penstock_ledger_opening(newer);
      old_carry := newer_carry;
      new_carry := penstock_carry(newer);
    END LOOP;
  END IF;
  RETURN b;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_bound_in_usd(p_op text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT EXISTS (SELECT 1 FROM usage_ledger l CROSS JOIN LATERAL unnest(l.counters) k (id)
    JOIN budget_counters c ON c.id = k.id JOIN budgets b ON b.id = c.budget_id
    WHERE l.operation_id = p_op AND c.amount = 0 AND b.hard)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_bucket_names()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT ARRAY['credits', 'chat_tokens', 'image_generations', 'image_edits', 'video_seconds', 'stt_seconds', 'tts_chars',
    'music_tracks', 'agent_runs']
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_end(p_period text, p_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE WHEN p_period <> 'total'
    THEN (date_trunc(p_period, p_at AT TIME ZONE 'UTC') + ('1 ' || p_period)::interval) AT TIME ZONE 'UTC' END
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_fires_at(p_cap bigint, p_thresholds integer[], p_fired integer[])
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT min(penstock_budget_mark(p_cap, t)) FROM unnest(p_thresholds) t WHERE t <> ALL (p_fired)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_forget(p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
DECLARE
  forgotten int;
BEGIN
  DELETE FROM budget_counters c USING (
      SELECT t.id FROM budget_counters t LEFT JOIN budgets b ON b.id = t.budget_id
        WHERE t.period_start < date_trunc('day', clock_timestamp(), 'UTC') AND t.reserved = 0
          AND (b.id IS NULL OR t.period_start < penstock_budget_start(b.period, clock_timestamp()))
        ORDER BY t.id LIMIT p_limit FOR UPDATE OF t SKIP LOCKED) old
    WHERE c.id = old.id;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_mark(p_cap bigint, p_threshold integer)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT greatest(1, ceil(p_cap * p_threshold::numeric / 10000))::bigint
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_nano(q admission_request, p_covered bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT CASE WHEN p_covered >= q.prompt + q.max OR q.max <= 0 THEN q.nano
    ELSE q.nano_prompt + ceil((q.nano - q.nano_prompt)::numeric * greatest(0, p_covered - q.prompt) / q.max)::bigint END
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_open(c admission_counter, p_at timestamp with time zone, p_reserved bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
  made bigint;
BEGIN
  INSERT INTO budget_counters AS t (budget_id, subject, period_start, org_id, amount, reserved, fires_at)
    SELECT b.id, c.subject, penstock_budget_start(b.period, p_at), b.org_id, c.amount, p_reserved,
      penstock_budget_fires_at(b.cap, b.thresholds, '{}')
    FROM budgets b WHERE b.id = c.budget
    ON CONFLICT (budget_id, period_start, subject) DO UPDATE SET reserved = t.reserved + excluded.reserved
    RETURNING t.id INTO made;
  RETURN made;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_part(p_amount integer, p_buckets bigint[], p_nano bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT COALESCE(CASE p_amount WHEN 0 THEN p_nano ELSE p_buckets[p_amount] END, 0)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_reserve(p_counters admission_counter[])
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  moment CONSTANT timestamptz := clock_timestamp();
  ids bigint[];
  places int[];
  written bigint[];
  c admission_counter;
BEGIN
  WITH v AS MATERIALIZED (
      SELECT t.id, v.cap, v.wanted, v.nth FROM unnest(p_counters) WITH ORDINALITY v (org, budget, subject, period, amount, cap, wanted, nth)
        JOIN budget_counters t ON t.budget_id = v.budget AND t.subject = v.subject AND t.period_start = penstock_budget_start(v.period, moment)
        ORDER BY t.id),
    u AS (
      UPDATE budget_counters t SET reserved = t.reserved + v.wanted FROM v
        WHERE t.id = v.id AND (v.cap IS NULL OR v.wanted = 0 OR t.spent + t.reserved + v.wanted <= v.cap)
        RETURNING t.id, v.nth)
    SELECT array_agg(u.id ORDER BY u.nth), array_agg(u.nth) INTO ids, places FROM u;
  IF cardinality(ids) = cardinality(p_counters) THEN
    RETURN ids;
  END IF;
  -- A counter that was not written has no room, or does not exist yet; in the second case it is created now.
  written := COALESCE(ids, '{}');
  ids := '{}';
  FOR i IN 1 .. cardinality(p_counters) LOOP
    IF i = ANY (places) THEN
      ids := ids || written[1];
      written := written[2:];
      CONTINUE;
    END IF;
    c := p_counters[i];
    IF c.cap < c.wanted OR EXISTS (SELECT 1 FROM budget_counters t
        WHERE t.budget_id = c.budget AND t.subject = c.subject AND t.period_start = penstock_budget_start(c.period, moment)) THEN
      RAISE EXCEPTION SQLSTATE 'PM001';
    END IF;
    ids := ids || penstock_budget_open(c, moment, c.wanted);
  END LOOP;
  IF array_position(ids, NULL) IS NOT NULL THEN
    RAISE EXCEPTION SQLSTATE 'PM001';
  END IF;
  RETURN ids;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_restore(p_counters jsonb)
 RETURNS bigint[]
 LANGUAGE sql
AS $function$
  SELECT array_agg(o.id) FROM jsonb_to_recordset(CASE jsonb_typeof(p_counters) WHEN 'array' THEN p_counters ELSE '[]' END)
      c (budget text, subject text, amount int),
    LATERAL penstock_budget_open(ROW(0, c.budget, c.subject, NULL, c.amount, NULL, 0)::admission_counter, clock_timestamp(), 0) o (id)
    WHERE o.id IS NOT NULL
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_rooms(p_counters admission_counter[], p_at timestamp with time zone)
 RETURNS TABLE(nth integer, id bigint, room bigint)
 LANGUAGE sql
AS $function$
  SELECT v.nth::int, t.id, v.cap - t.spent - t.reserved
    FROM unnest(p_counters) WITH ORDINALITY v (org, budget, subject, period, amount, cap, wanted, nth)
    JOIN budget_counters t ON t.budget_id = v.budget AND t.subject = v.subject AND t.period_start = penstock_budget_start(v.period, p_at)
    ORDER BY t.id FOR UPDATE OF t
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_settle(p_endings budget_ending[])
 RETURNS integer
 LANGUAGE plpgsql
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  written int;
  due bigint[];
BEGIN
  WITH n AS MATERIALIZED (
      SELECT c.id, sum(penstock_budget_part(c.amount, e.held, e.held_nano))::bigint AS held,
          sum(penstock_budget_part(c.amount, e.spent, e.spent_nano))::bigint AS spent
        FROM unnest(p_endings) e CROSS JOIN LATERAL unnest(e.counters) k (id) JOIN budget_counters c ON c.id = k.id
        GROUP BY c.id ORDER BY c.id),
    u AS (
      UPDATE budget_counters c SET spent = greatest(0, c.spent + n.spent), reserved = c.reserved - n.held FROM n
        WHERE c.id = n.id RETURNING c.id, c.spent >= c.fires_at AS fires)
    SELECT count(*), array_agg(u.id ORDER BY u.id) FILTER (WHERE u.fires) INTO written, due FROM u;
  IF due IS NOT NULL THEN
    PERFORM penstock_budget_tell(id) FROM unnest(due) id;
  END IF;
  RETURN written;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_shown(p_unit text, p_amount bigint)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT CASE p_unit WHEN 'usd' THEN to_jsonb(trim_scale(p_amount / 1000000000.0)::text) ELSE to_jsonb(trim_scale(p_amount / 100.0)) END
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_start(p_period text, p_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE WHEN p_period = 'total' THEN 'epoch'::timestamptz ELSE date_trunc(p_period, p_at, 'UTC') END
$function$;

CREATE OR REPLACE FUNCTION public.penstock_budget_tell(p_counter bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  c budget_counters;
  b budgets;
  part int;
  data jsonb;
BEGIN
  SELECT * INTO STRICT c FROM budget_counters t WHERE t.id = p_counter;
  SELECT * INTO b FROM budgets t WHERE t.id = c.budget_id;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  FOR part IN SELECT t FROM unnest(b.thresholds) t WHERE t <> ALL (c.fired) AND c.spent >= penstock_budget_mark(b.cap, t) ORDER BY t LOOP
    c.fired := c.fired || part;
    data := jsonb_build_object('budgetId', b.id, 'name', b.name, 'scope', b.scope, 'subject', NULLIF(c.subject, ''),
      'percent', trim_scale(part / 100.0), 'spent', penstock_budget_shown(b.unit, c.spent), 'limit', penstock_budget_shown(b.unit, b.cap),
      'unit', b.unit);
    PERFORM penstock_emit('events', b.org_id, penstock_event('budget.threshold', b.org_id, data));
  END LOOP;
  UPDATE budget_counters t SET fired = c.fired, fires_at = penstock_budget_fires_at(b.cap, b.thresholds, c.fired) WHERE t.id = c.id;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_carry(b balances)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_agg(CASE WHEN a = -1 THEN s + t ELSE greatest(0, s + t - greatest(0, u + r - greatest(a, c))) END ORDER BY nth)
  FROM unnest(b.allowance, b.covered, b.topup_start, b.topup_added, b.used, b.reserved) WITH ORDINALITY v (a, c, s, t, u, r, nth)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_cover(b balances)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_agg(greatest(c, CASE WHEN a = -1 THEN u + r ELSE least(u + r, a) END) ORDER BY nth)
  FROM unnest(b.allowance, b.covered, b.used, b.reserved) WITH ORDINALITY v (a, c, u, r, nth)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_emit(p_topic text, p_key text, p_event jsonb, p_traceparent text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF p_traceparent IS NOT NULL THEN
    INSERT INTO event_traces (event_id, traceparent) VALUES (p_event ->> 'id', p_traceparent);
  END IF;
  INSERT INTO outbox (topic, key, event) VALUES (p_topic, p_key, p_event);
  PERFORM pg_notify('penstock_outbox', '');
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_ending(p_op text, p_amounts bigint[], p_outcome jsonb DEFAULT NULL::jsonb, p_fallback jsonb DEFAULT NULL::jsonb)
 RETURNS settlement_ending
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT ROW(p_op, p_amounts, p_fallback, p_outcome ->> 'status', p_outcome ->> 'errorCode', p_outcome ->> 'answeredModel',
    p_outcome ->> 'provider', p_outcome ->> 'upstreamId', round((p_outcome ->> 'firstTokenMs')::numeric),
    CASE jsonb_typeof(p_outcome -> 'tokens') WHEN 'object' THEN ARRAY[(t ->> 'input')::bigint, (t ->> 'cachedInput')::bigint,
      (t ->> 'cacheWrite')::bigint, (t ->> 'output')::bigint, (t ->> 'reasoning')::bigint] END,
    CASE WHEN p_amounts IS NULL AND p_outcome ->> 'status' IS NULL THEN 0 ELSE (p_outcome ->> 'costNano')::bigint END,
    p_outcome ->> 'costVersion')::settlement_ending
  FROM (SELECT p_outcome -> 'tokens' AS t) o
$function$;

CREATE OR REPLACE FUNCTION public.penstock_event(p_type text, p_org_id text, p_data jsonb)
 RETURNS jsonb
 LANGUAGE sql
AS $function$
  SELECT jsonb_build_object('id', penstock_event_id(), 'type', p_type, 'orgId', p_org_id,
    'timestamp', penstock_iso(clock_timestamp()), 'data', p_data)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_event_head()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
DECLARE
  alphabet CONSTANT text := '0123456789abcdefghjkmnpqrstvwxyz';
  ms CONSTANT bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
BEGIN
  RETURN 'evt_' ||
    substr(alphabet, ((ms >> 45) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 40) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 35) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 30) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 25) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 20) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 15) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 10) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 5) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 0) & 31)::int + 1, 1);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_event_id()
 RETURNS text
 LANGUAGE sql
AS $function$
  SELECT penstock_event_head() || penstock_event_tail()
$function$;

CREATE OR REPLACE FUNCTION public.penstock_event_tail()
 RETURNS text
 LANGUAGE sql
AS $function$
  SELECT translate(substr(gen_random_uuid()::text, 20), '-', '')
$function$;

CREATE OR REPLACE FUNCTION public.penstock_file_save(p_limit bigint, f files)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  used bigint;
BEGIN
  IF p_limit >= 0 THEN
    INSERT INTO stored_bytes (org_id, part) VALUES (f.org_id, 0) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM stored_bytes s WHERE s.org_id = f.org_id AND s.part = 0 FOR UPDATE;
    SELECT sum(s.bytes) INTO used FROM stored_bytes s WHERE s.org_id = f.org_id;
    IF used + f.size_bytes > p_limit THEN
      RETURN false;
    END IF;
  END IF;
  INSERT INTO files (id, org_id, content_type, size_bytes, extension, width, height, duration_seconds, job_id, run_id)
    VALUES (f.id, f.org_id, f.content_type, f.size_bytes, f.extension, f.width, f.height, f.duration_seconds, f.job_id, f.run_id);
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_files_gone()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT c.org_id, 0, -sum(c.size_bytes), -count(*) FROM gone c GROUP BY c.org_id ORDER BY c.org_id
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_files_stored()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT c.org_id, 0, sum(c.size_bytes), count(*) FROM added c GROUP BY c.org_id ORDER BY c.org_id
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_generation_event(j jobs, p_type text, p_data jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM penstock_emit('events', j.org_id, penstock_event(p_type, j.org_id,
    jsonb_build_object('jobId', j.id, 'tool', j.tool, 'model', j.model) || p_data));
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_heard_events(p_events json)
 RETURNS SETOF settlement_event
 LANGUAGE sql
 STABLE
AS $function$
  SELECT e.* FROM json_populate_recordset(NULL::settlement_event, p_events) e
  WHERE e.unheard IS NOT TRUE OR EXISTS (SELECT 1 FROM webhooks w WHERE w.org_id = e.org) OR (SELECT i.kafka FROM installation i)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_heartbeat(p_id text, p_role text, p_lease_ms integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO processes AS p (id, role, lease_until) VALUES (p_id, p_role, clock_timestamp() + p_lease_ms * interval '1 ms')
    ON CONFLICT (id) DO UPDATE SET lease_until = EXCLUDED.lease_until;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_idempotency_begin(p_id text, p_org text, p_key text, p_fingerprint bytea, p_process text)
 RETURNS TABLE(outcome text, row_id text, owner text, jobs text[], granted text[], answer_status integer, answer_headers jsonb, answer_body bytea)
 LANGUAGE plpgsql
AS $function$
DECLARE
  r idempotency_keys%ROWTYPE;
BEGIN
  LOOP
    INSERT INTO idempotency_keys (id, org_id, key, fingerprint, process_id)
      VALUES (p_id, p_org, p_key, p_fingerprint, p_process)
      ON CONFLICT (org_id, key) DO NOTHING;
    IF FOUND THEN
      RETURN QUERY SELECT 'run', p_id, p_process, '{}'::text[], '{}'::text[], NULL::integer, NULL::jsonb, NULL::bytea;
      RETURN;
    END IF;
    SELECT * INTO r FROM idempotency_keys k WHERE k.org_id = p_org AND k.key = p_key FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    IF r.created_at < now() - interval '24 hours' THEN
      DELETE FROM idempotency_keys k WHERE k.id = r.id;
      CONTINUE;
    END IF;
    EXIT;
  END LOOP;
  IF r.fingerprint <> p_fingerprint THEN
    RETURN QUERY SELECT 'mismatch', r.id, r.process_id, r.job_ids, r.scopes, NULL::integer, NULL::jsonb, NULL::bytea;
  ELSIF r.state = 'done' THEN
    RETURN QUERY SELECT 'done', r.id, r.process_id, r.job_ids, r.scopes, r.status, r.headers, r.body;
  ELSIF r.process_id = p_process
    OR EXISTS (SELECT 1 FROM processes p WHERE p.id = r.process_id AND p.lease_until > clock_timestamp()) THEN
    RETURN QUERY SELECT 'in_flight', r.id, r.process_id, r.job_ids, r.scopes, NULL::integer, NULL::jsonb, NULL::bytea;
  ELSE
    UPDATE idempotency_keys k SET id = p_id, process_id = p_process WHERE k.id = r.id;
    RETURN QUERY SELECT 'run', p_id, NULL::text, r.job_ids, r.scopes, r.status, r.headers, r.body;
  END IF;
END
$function$;

CREATE OR REPLACE FUNCTION public.penstock_idempotency_bind(p_row text, p_job text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE idempotency_keys SET job_ids = CASE WHEN p_job = ANY (job_ids) THEN job_ids ELSE job_ids || p_job END
    WHERE id = p_row AND state = 'in_flight';
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the Idempotency-Key is another request''s by now' USING ERRCODE = 'PSKEY';
  END IF;
END
$function$;

CREATE OR REPLACE FUNCTION public.penstock_iso(p_time timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  SELECT to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$function$;

CREATE OR REPLACE FUNCTION public.penstock_job_announce(j jobs, p_type text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM penstock_emit('jobs', j.id,
    penstock_event(p_type, j.org_id, penstock_job_view(j)) || jsonb_build_object('sequence', j.sequence));
  PERFORM pg_notify('penstock_job_event', concat_ws(':', j.id, j.sequence, j.org_id));
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_balances(p_balance jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT jsonb_object_agg(b.name, jsonb_build_object('remaining', CASE
      WHEN (p_balance #> ARRAY['allowance', i.at])::bigint = -1 THEN -1
      ELSE trim_scale(GREATEST(0, (p_balance #> ARRAY['allowance', i.at])::bigint + (p_balance #> ARRAY['topupStart', i.at])::bigint
        + (p_balance #> ARRAY['topupAdded', i.at])::bigint - (p_balance #> ARRAY['used', i.at])::bigint
        - (p_balance #> ARRAY['reserved', i.at])::bigint) / 100.0) END))
  FROM unnest(penstock_bucket_names()) WITH ORDINALITY b (name, nth), LATERAL (SELECT (b.nth - 1)::text AS at) i
  WHERE b.name <> 'chat_tokens'
$function$;

CREATE OR REPLACE FUNCTION public.penstock_job_bind_files(j jobs, p_file_ids jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF jsonb_array_length(p_file_ids) > 0 THEN
    UPDATE files f SET job_id = j.id
      WHERE f.org_id = j.org_id AND f.id IN (SELECT jsonb_array_elements_text(p_file_ids));
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_cancel(p_org text, p_id text)
 RETURNS TABLE(moved boolean, job jobs)
 LANGUAGE plpgsql
AS $function$
DECLARE
  j jobs;
BEGIN
  SELECT * INTO j FROM jobs q WHERE q.id = p_id AND q.org_id = p_org FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF j.status NOT IN ('pending', 'processing') THEN
    RETURN QUERY SELECT false, j;
    RETURN;
  END IF;
  IF j.status = 'processing' THEN
    PERFORM pg_notify('penstock_job_cancel', j.id);
  END IF;
  j := penstock_job_finish(j, 'cancelled', 'Cancelled', NULL);
  RETURN QUERY SELECT true, j;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_event(j jobs)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
  VALUES (j.id, j.org_id, j.sequence, 'job.' || j.status, j.status, j.progress, j.attempt, j.fence, j.started_at);
  PERFORM penstock_job_announce(j, 'job.' || j.status);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_events_forget()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM job_events e USING gone g WHERE e.job_id = g.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_fail(p_worker text, p_id text, p_fence integer, p_message text, p_code text, p_outcome jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  j jobs;
BEGIN
  SELECT * INTO j FROM jobs q
    WHERE q.id = p_id AND q.status = 'processing' AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM penstock_job_finish(j, 'failed', p_message, p_code, p_outcome);
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_finish(j jobs, p_status text, p_message text, p_code text, p_outcome jsonb DEFAULT NULL::jsonb)
 RETURNS jobs
 LANGUAGE plpgsql
AS $function$
DECLARE
  done jobs;
  outcome jsonb := COALESCE(p_outcome, jsonb_build_object('status', p_status,
    'errorCode', CASE p_status WHEN 'failed' THEN COALESCE(p_code, 'server_error') END, 'costNano', '0'));
BEGIN
  UPDATE jobs SET status = p_status, sequence = sequence + 1, completed_at = clock_timestamp(), worker_id = NULL,
      lease_until = NULL, deadline = NULL,
      error_message = CASE WHEN p_status = 'failed' THEN p_message END, error_code = p_code
    WHERE id = j.id RETURNING * INTO done;
  outcome := penstock_outcome_sum(outcome, done.spent);
  IF p_status = 'cancelled' AND j.live IS NOT NULL AND EXISTS (SELECT FROM job_parts p WHERE p.job_id = j.id) THEN
    PERFORM penstock_settle(done.operation_id,
      (SELECT l.reserved FROM usage_ledger l WHERE l.operation_id = done.operation_id), outcome);
  ELSE
    PERFORM penstock_release(done.operation_id, outcome);
  END IF;
  PERFORM penstock_job_event(done);
  PERFORM penstock_generation_event(done, 'generation.failed', jsonb_build_object('errorMessage', p_message));
  RETURN done;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_give(p_worker text, p_id text, p_fence integer, p_after integer, p_parts text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_message(p_head text, p_time text, p_type text, j jobs)
 RETURNS jsonb
 LANGUAGE sql
AS $function$
  SELECT jsonb_build_object('id', p_head || penstock_event_tail(), 'type', p_type, 'orgId', j.org_id,
    'timestamp', p_time, 'sequence', j.sequence, 'data', penstock_job_view(j))
$function$;

CREATE OR REPLACE FUNCTION public.penstock_job_order(p_worker text, p_id text, p_fence integer, p_engine text, p_reference text)
 RETURNS boolean
 LANGUAGE sql
AS $function$
  WITH noted AS (
    UPDATE jobs SET orders = COALESCE(orders, '{}') || jsonb_build_object(p_engine, p_reference)
    WHERE id = p_id AND status = 'processing' AND worker_id = p_worker AND fence = p_fence RETURNING 1
  )
  SELECT EXISTS (SELECT 1 FROM noted)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_job_order_withdrawn(p_id text, p_engine text, p_reference text)
 RETURNS void
 LANGUAGE sql
AS $function$
  UPDATE jobs SET orders = NULLIF(orders - p_engine, '{}') WHERE id = p_id AND orders ->> p_engine = p_reference
$function$;

CREATE OR REPLACE FUNCTION public.penstock_job_orders_forget(p_id text)
 RETURNS void
 LANGUAGE sql
AS $function$
  UPDATE jobs SET orders = NULL WHERE id = p_id AND status = 'failed' AND orders IS NOT NULL
$function$;

CREATE OR REPLACE FUNCTION public.penstock_job_orders_left(p_older_than_ms integer)
 RETURNS TABLE(id text, tool text, orders jsonb)
 LANGUAGE sql
AS $function$
  WITH abandoned AS (
    SELECT j.id, j.tool, j.orders FROM jobs j
    WHERE j.orders IS NOT NULL AND j.status IN ('cancelled', 'failed')
      AND j.completed_at < clock_timestamp() - p_older_than_ms * interval '1 ms'
    ORDER BY j.id LIMIT 20 FOR UPDATE SKIP LOCKED
  ), taken AS (
    UPDATE jobs j SET orders = NULL FROM abandoned a WHERE j.id = a.id
  )
  SELECT a.id, a.tool, a.orders FROM abandoned a
$function$;

CREATE OR REPLACE FUNCTION public.penstock_job_parts_forget()
 RETURNS void
 LANGUAGE sql
AS $function$
  DELETE FROM job_parts p WHERE p.created_at < clock_timestamp() - interval '1 minute' AND NOT EXISTS (
    SELECT FROM jobs j WHERE j.id = p.job_id
      AND (j.completed_at IS NULL OR j.completed_at > clock_timestamp() - interval '1 minute'))
$function$;

CREATE OR REPLACE FUNCTION public.penstock_job_progress_event(j jobs)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
  VALUES (j.id, j.org_id, j.sequence, 'job.progress', j.status, j.progress, j.attempt, j.fence, j.started_at);
  PERFORM penstock_job_announce(j, 'job.progress');
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_requeue(j jobs, p_uncount boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  queued jobs;
BEGIN
  UPDATE jobs SET status = 'pending', progress = 0, sequence = sequence + 1, worker_id = NULL, lease_until = NULL,
      attempt = attempt - p_uncount::int, deadline = CASE WHEN p_uncount THEN NULL ELSE deadline END
    WHERE id = j.id RETURNING * INTO queued;
  PERFORM penstock_job_event(queued);
  PERFORM pg_notify('penstock_job_pending', queued.tool);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_spent(p_id text, p_fence integer, p_outcome jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  j jobs;
BEGIN
  SELECT * INTO j FROM jobs q WHERE q.id = p_id FOR UPDATE;
  IF NOT FOUND OR j.spent -> 'fences' @> to_jsonb(p_fence) THEN
    RETURN false;
  END IF;
  UPDATE jobs q SET spent = penstock_outcome_sum(p_outcome, j.spent)
      || jsonb_build_object('fences', COALESCE(j.spent -> 'fences', '[]') || to_jsonb(p_fence))
    WHERE q.id = p_id;
  IF j.completed_at IS NOT NULL THEN
    PERFORM penstock_ledger_late_cost(j.operation_id, p_outcome);
  END IF;
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_job_view(j jobs)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  SELECT jsonb_build_object(
    'id', j.id, 'orgId', j.org_id, 'userId', j.user_id, 'tool', j.tool, 'status', j.status, 'progress', j.progress,
    'inputParams', j.input_params, 'outputData', j.output_data, 'estimatedCredits', j.estimated_credits,
    'actualCredits', j.actual_credits, 'errorMessage', j.error_message, 'createdAt', penstock_iso(j.created_at),
    'startedAt', penstock_iso(j.started_at), 'completedAt', penstock_iso(j.completed_at), 'model', j.model,
    'modelTier', j.model_tier)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_jobs_choose(p_tool text, p_slots integer, p_resting text[])
 RETURNS text[]
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN ARRAY(
    WITH RECURSIVE waiting AS (
      (SELECT q.org_id FROM jobs q WHERE q.status = 'pending' AND q.tool = p_tool ORDER BY q.org_id LIMIT 1)
      UNION ALL
      SELECT (SELECT q.org_id FROM jobs q
          WHERE q.status = 'pending' AND q.tool = p_tool AND q.org_id > o.org_id ORDER BY q.org_id LIMIT 1)
        FROM waiting o WHERE o.org_id IS NOT NULL
    ), worked AS MATERIALIZED (
      SELECT q.org_id, count(*) AS jobs FROM jobs q
      WHERE q.status = 'processing' AND q.tool = p_tool AND q.id <> ALL (p_resting) GROUP BY q.org_id
    ), due AS (
      SELECT o.org_id, COALESCE(w.jobs, 0) AS jobs, COALESCE(turn.served, 0) AS served
      FROM waiting o LEFT JOIN worked w ON w.org_id = o.org_id LEFT JOIN job_turns turn ON turn.tool = p_tool AND turn.org_id = o.org_id
      WHERE o.org_id IS NOT NULL
      ORDER BY jobs, served, o.org_id LIMIT 2 * p_slots + 8
    ), candidates AS (
      SELECT c.id, o.jobs + c.nth AS nth, o.served
      FROM due o
      CROSS JOIN LATERAL (
        SELECT q.id, row_number() OVER (ORDER BY q.id) AS nth FROM jobs q
        WHERE q.status = 'pending' AND q.tool = p_tool AND q.org_id = o.org_id
        ORDER BY q.id LIMIT 2 * p_slots + 8) c
      ORDER BY nth, o.served, c.id LIMIT 2 * p_slots + 8
    )
    SELECT q.id FROM candidates c JOIN jobs q ON q.id = c.id AND q.worker_id IS NULL AND q.completed_at IS NULL
    ORDER BY c.nth, c.served, c.id LIMIT p_slots FOR UPDATE OF q SKIP LOCKED);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_jobs_complete(p_worker text, p_items jsonb)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
  ids text[];
  items jsonb[];
  endings settlement_ending[];
  settled jsonb;
  shown jsonb[];
  head text := penstock_event_head();
  now_iso text := penstock_iso(clock_timestamp());
BEGIN
  SELECT array_agg(q.id), array_agg(q.item), array_agg(penstock_ending(q.operation_id,
      ARRAY(SELECT a.value::bigint FROM jsonb_array_elements_text(q.item -> 'amounts') WITH ORDINALITY a (value, nth) ORDER BY a.nth),
      penstock_outcome_sum(q.item -> 'outcome', q.spent)))
    INTO ids, items, endings FROM (
      SELECT j.id, j.operation_id, j.spent, i.value AS item
      FROM jsonb_array_elements(p_items) i JOIN jobs j ON j.id = i.value ->> 'id' AND j.fence = (i.value ->> 'fence')::int
      WHERE j.worker_id = p_worker ORDER BY j.id FOR UPDATE OF j) q;
  IF ids IS NULL THEN
    RETURN;
  END IF;
  settled := penstock_settle_many(endings);
  IF settled -> 'items' @> '[[2, -1]]' THEN
    -- A crash of PostgreSQL can lose a reservation that was committed without a flush. The job is charged nevertheless.
    PERFORM penstock_ledger_restore(j.operation_id, COALESCE(j.counted_for, '{}') || jsonb_build_object('org', j.org_id, 'key', j.key_id, 'user', j.user_id, 'kind', j.tool,
        'model', j.model, 'request', j.request_id, 'job', j.id, 'version', b.org_version, 'allowance', to_jsonb(b.allowance)))
      FROM unnest(ids) u (id) JOIN jobs j ON j.id = u.id JOIN balances b ON b.org_id = j.org_id AND NOT b.superseded
      WHERE NOT EXISTS (SELECT 1 FROM usage_ledger l WHERE l.operation_id = j.operation_id);
    settled := penstock_settle_many(endings);
  END IF;
  shown := ARRAY(SELECT penstock_job_balances(b.value)
    FROM jsonb_array_elements(settled -> 'balances') WITH ORDINALITY b (value, nth) ORDER BY b.nth);
  UPDATE files f SET job_id = u.id
    FROM unnest(ids, items) u (id, item), jsonb_array_elements_text(u.item -> 'fileIds') x (id), jobs j
    WHERE f.id = x.id AND j.id = u.id AND f.org_id = j.org_id;
  UPDATE jobs j SET status = 'completed', progress = 100, sequence = j.sequence + 1, output_data = d.item -> 'outputData',
      result = (d.item -> 'result') || jsonb_build_object('settlement', jsonb_build_object('charged', d.settled -> 2,
        'balances', shown[(d.settled ->> 1)::int + 1])),
      actual_credits = ((d.settled -> 2 ->> 0)::bigint) / 100.0,
      completed_at = clock_timestamp(), worker_id = NULL, lease_until = NULL, deadline = NULL
    FROM ROWS FROM (unnest(ids), unnest(items), jsonb_array_elements(settled -> 'items')) d (id, item, settled)
    WHERE j.id = d.id;
  INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
    SELECT j.id, j.org_id, j.sequence, 'job.completed', 'completed', 100, j.attempt, j.fence, j.started_at
    FROM unnest(ids) u (id) JOIN jobs j ON j.id = u.id;
  INSERT INTO outbox (topic, key, event)
    SELECT 'jobs', j.id, penstock_job_message(head, now_iso, 'job.completed', j) FROM unnest(ids) u (id) JOIN jobs j ON j.id = u.id;
  INSERT INTO outbox (topic, key, event)
    SELECT 'events', j.org_id, penstock_message(head, now_iso, 'generation.completed', j.org_id, jsonb_build_object(
      'jobId', j.id, 'tool', j.tool, 'model', j.model, 'outputUrl', u.item -> 'outputUrl',
      'durationMs', floor(extract(epoch FROM j.completed_at - j.started_at) * 1000)::bigint,
      'unitsUsed', trim_scale(((j.result #>> ARRAY['settlement', 'charged',
        (array_position(penstock_bucket_names(), u.item ->> 'unitType') - 1)::text])::bigint) / 100.0),
      'unitType', u.item ->> 'unitType'))
    FROM unnest(ids, items) u (id, item) JOIN jobs j ON j.id = u.id;
  PERFORM pg_notify('penstock_job_event', concat_ws(':', j.id, j.sequence, j.org_id)) FROM unnest(ids) u (id) JOIN jobs j ON j.id = u.id;
  PERFORM pg_notify('penstock_outbox', '');
  RETURN QUERY SELECT u.id FROM unnest(ids) u (id);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_jobs_create(p_items jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
DECLARE
  item jsonb;
  j jobs;
  unfinished bigint;
  answers jsonb := '[]';
BEGIN
  PERFORM pg_advisory_xact_lock(7303, slot) FROM (
    SELECT DISTINCT hashtext(i.value ->> 'orgId') AS slot FROM jsonb_array_elements(p_items) i ORDER BY slot) slots;
  FOR item IN SELECT i.value FROM jsonb_array_elements(p_items) WITH ORDINALITY i (value, nth) ORDER BY nth LOOP
    SELECT count(*) INTO unfinished FROM (
      SELECT 1 FROM jobs o WHERE o.org_id = item ->> 'orgId' AND o.status IN ('pending', 'processing')
      LIMIT (item ->> 'maxPending')::bigint) o;
    IF unfinished >= (item ->> 'maxPending')::bigint THEN
      PERFORM penstock_release(item ->> 'operationId', '{"status": "failed", "errorCode": "rate_limited", "costNano": "0"}');
      answers := answers || jsonb_build_object('id', item ->> 'id', 'createdAt', NULL);
      CONTINUE;
    END IF;
    INSERT INTO jobs (id, org_id, user_id, key_id, tool, input_params, estimated_credits, model, model_tier, multiplier,
        operation_id, request_id, client, counted_for, live)
      VALUES (item ->> 'id', item ->> 'orgId', item ->> 'userId', item ->> 'keyId', item ->> 'tool', item -> 'inputParams',
        (item ->> 'estimatedCredits')::double precision, item ->> 'model', item ->> 'modelTier', (item ->> 'multiplier')::int,
        item ->> 'operationId', item ->> 'requestId', item -> 'client',
        NULLIF(item -> 'countedFor', 'null'), NULLIF(item -> 'live', 'null'))
      RETURNING * INTO j;
    PERFORM penstock_attach(j.operation_id, j.id);
    IF item ->> 'idempotencyKey' IS NOT NULL THEN
      PERFORM penstock_idempotency_bind(item ->> 'idempotencyKey', j.id);
    END IF;
    PERFORM penstock_job_bind_files(j, item -> 'fileIds');
    PERFORM penstock_job_event(j);
    PERFORM pg_notify('penstock_job_pending', j.tool);
    answers := answers || jsonb_build_object('id', j.id, 'createdAt', penstock_iso(j.created_at));
  END LOOP;
  RETURN answers;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_jobs_give_back(p_worker text, p_ids text[], p_fences integer[])
 RETURNS SETOF text
 LANGUAGE plpgsql
AS $function$
DECLARE
  j jobs;
BEGIN
  FOR j IN
    SELECT q.* FROM jobs q JOIN unnest(p_ids, p_fences) AS mine (id, fence) ON mine.id = q.id AND mine.fence = q.fence
    WHERE q.status = 'processing' AND q.worker_id = p_worker ORDER BY q.id FOR UPDATE OF q
  LOOP
    PERFORM penstock_job_requeue(j, true);
    RETURN NEXT j.id;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_jobs_newcomers(p_tool text, p_places integer, p_resting text[], p_chosen text[])
 RETURNS text[]
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN ARRAY(
    WITH RECURSIVE waiting AS (
      (SELECT q.org_id FROM jobs q WHERE q.status = 'pending' AND q.tool = p_tool ORDER BY q.org_id LIMIT 1)
      UNION ALL
      SELECT (SELECT q.org_id FROM jobs q
          WHERE q.status = 'pending' AND q.tool = p_tool AND q.org_id > o.org_id ORDER BY q.org_id LIMIT 1)
        FROM waiting o WHERE o.org_id IS NOT NULL
    ), due AS (
      SELECT o.org_id, COALESCE(turn.served, 0) AS served
      FROM waiting o LEFT JOIN job_turns turn ON turn.tool = p_tool AND turn.org_id = o.org_id
      WHERE o.org_id IS NOT NULL AND o.org_id NOT IN (SELECT j.org_id FROM jobs j
        WHERE (j.status = 'processing' AND j.tool = p_tool AND j.id <> ALL (p_resting)) OR j.id = ANY (p_chosen))
      ORDER BY served, o.org_id LIMIT p_places + 8
    ), candidates AS (
      SELECT c.id, o.served FROM due o
      CROSS JOIN LATERAL (SELECT q.id FROM jobs q
        WHERE q.status = 'pending' AND q.tool = p_tool AND q.org_id = o.org_id ORDER BY q.id LIMIT 1) c
    )
    SELECT q.id FROM candidates c JOIN jobs q ON q.id = c.id AND q.worker_id IS NULL AND q.completed_at IS NULL
    ORDER BY c.served, c.id LIMIT p_places FOR UPDATE OF q SKIP LOCKED);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_jobs_progress(p_worker text, p_ids text[], p_fences integer[], p_percents integer[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  mine record;
  j jobs;
BEGIN
  FOR mine IN SELECT * FROM unnest(p_ids, p_fences, p_percents) AS m (id, fence, percent) ORDER BY m.id LOOP
    UPDATE jobs SET progress = mine.percent, sequence = sequence + 1
      WHERE id = mine.id AND status = 'processing' AND worker_id = p_worker AND fence = mine.fence AND progress < mine.percent
      RETURNING * INTO j;
    IF FOUND THEN
      PERFORM penstock_job_progress_event(j);
    END IF;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_jobs_sweep(p_max_attempts integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
DECLARE
  j jobs;
  moved int := 0;
BEGIN
  FOR j IN
    SELECT q.* FROM jobs q
    WHERE q.status = 'processing'
      AND (q.lease_until < clock_timestamp() OR q.deadline < clock_timestamp() - interval '5 s')
    ORDER BY q.org_id, q.id LIMIT 200 FOR UPDATE SKIP LOCKED
  LOOP
    IF j.deadline < clock_timestamp() THEN
      PERFORM penstock_job_finish(j, 'failed', 'Job timed out', 'server_error');
    ELSIF j.attempt >= p_max_attempts THEN
      PERFORM penstock_job_finish(j, 'failed', 'Job processing error', 'server_error');
    ELSE
      PERFORM penstock_job_requeue(j, false);
    END IF;
    moved := moved + 1;
  END LOOP;
  RETURN moved;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_jobs_take(p_worker text, p_tools text[], p_slots integer[], p_newcomers integer[], p_limits_ms bigint[], p_lease_ms integer, p_resting text[])
 RETURNS SETOF jobs
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
  ids text[];
  taken text[] := '{}';
BEGIN
  FOR t IN 1 .. cardinality(p_tools) LOOP
    ids := ARRAY(SELECT q.id FROM jobs q WHERE q.status = 'pending' AND q.tool = p_tools[t] LIMIT p_slots[t] + 1);
    CONTINUE WHEN cardinality(ids) = 0;
    IF cardinality(ids) > p_slots[t] THEN
      ids := '{}';
      IF p_slots[t] > 0 THEN
        ids := penstock_jobs_choose(p_tools[t], p_slots[t], p_resting);
      END IF;
      IF p_newcomers[t] > 0 THEN
        ids := ids || penstock_jobs_newcomers(p_tools[t], p_newcomers[t], p_resting, ids);
      END IF;
      CONTINUE WHEN cardinality(ids) = 0;
    END IF;
    taken := taken || ids;
    RETURN QUERY
      UPDATE jobs j SET status = 'processing', progress = 0, sequence = j.sequence + 1, attempt = j.attempt + 1, fence = j.fence + 1,
          worker_id = p_worker, lease_until = clock_timestamp() + p_lease_ms * interval '1 ms',
          started_at = COALESCE(j.started_at, clock_timestamp()),
          deadline = COALESCE(j.deadline, clock_timestamp() + p_limits_ms[t] * interval '1 ms')
        FROM (
          SELECT q.id FROM unnest(ids) u (id) JOIN jobs q ON q.id = u.id AND q.worker_id IS NULL AND q.completed_at IS NULL
          FOR UPDATE OF q SKIP LOCKED
        ) p WHERE j.id = p.id RETURNING j.*;
  END LOOP;
  PERFORM set_config('penstock.taken', array_to_string(taken, ' '), true);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_jobs_taken()
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
  ids text[] := string_to_array(current_setting('penstock.taken'), ' ');
  head text;
  now_iso text;
  turn bigint;
BEGIN
  IF cardinality(ids) = 0 THEN
    RETURN;
  END IF;
  INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
    SELECT j.id, j.org_id, j.sequence, 'job.processing', 'processing', 0, j.attempt, j.fence, j.started_at FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  head := penstock_event_head();
  now_iso := penstock_iso(clock_timestamp());
  INSERT INTO outbox (topic, key, event)
    SELECT 'jobs', j.id, penstock_job_message(head, now_iso, 'job.processing', j) FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid;
  INSERT INTO outbox (topic, key, event)
    SELECT 'events', j.org_id, penstock_message(head, now_iso, 'generation.started', j.org_id,
      jsonb_build_object('jobId', j.id, 'tool', j.tool, 'model', j.model)) FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid AND j.fence = 1;
  PERFORM pg_notify('penstock_job_event', concat_ws(':', j.id, j.sequence, j.org_id)) FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid;
  PERFORM pg_notify('penstock_outbox', '');
  turn := nextval('job_turn') * 1000000;
  -- Last, and in a fixed order, so that two workers cannot deadlock on these rows.
  INSERT INTO job_turns (tool, org_id, served)
    SELECT j.tool, j.org_id, turn + max(u.nth) FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid GROUP BY j.tool, j.org_id ORDER BY 1, 2
    ON CONFLICT (tool, org_id) DO UPDATE SET served = GREATEST(job_turns.served, EXCLUDED.served);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_latency_digit(p_ms integer)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT ('1e' || 12 * (CASE WHEN p_ms <= 1 THEN 0 WHEN p_ms > 1 THEN least(ceil(ln(p_ms::float8) / ln(1.1::float8))::int, 220) END - 72))::numeric
$function$;

CREATE OR REPLACE FUNCTION public.penstock_leases_release(p_table regclass, p_channel text, p_worker text, p_ids text[], p_fences integer[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  EXECUTE format($query$
    WITH held AS (
      SELECT r.id FROM %1$s r JOIN unnest($2, $3) AS mine (id, fence) ON mine.id = r.id AND mine.fence = r.fence
      WHERE r.worker_id = $1 ORDER BY r.id FOR UPDATE OF r
    )
    UPDATE %1$s r SET worker_id = NULL, lease_until = NULL, fence = r.fence + 1
    FROM held WHERE r.id = held.id
  $query$, p_table) USING p_worker, p_ids, p_fences;
  PERFORM pg_notify(p_channel, '');
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_leases_renew(p_table regclass, p_worker text, p_ids text[], p_fences integer[], p_lease_ms integer)
 RETURNS SETOF text
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY EXECUTE format($query$
    WITH held AS (
      SELECT r.id FROM %1$s r JOIN unnest($2, $3) AS mine (id, fence) ON mine.id = r.id AND mine.fence = r.fence
      WHERE r.worker_id = $1 ORDER BY r.id FOR UPDATE OF r
    )
    UPDATE %1$s r SET lease_until = clock_timestamp() + $4 * interval '1 ms'
    FROM held WHERE r.id = held.id RETURNING r.id
  $query$, p_table) USING p_worker, p_ids, p_fences, p_lease_ms;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_bound(p_at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT 'op_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
    ((floor(date_part('epoch', p_at) * 1000)::bigint >> shift) & 31)::int + 1, 1), '' ORDER BY shift DESC)
  FROM generate_series(0, 45, 5) shift
$function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_charge(l usage_ledger)
 RETURNS bigint[]
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE WHEN l.state = 'settled' THEN
    COALESCE(l.charged, (SELECT c.charged FROM usage_ledger c WHERE c.operation_id = l.correction), penstock_zeros()) END
$function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_correct(e settlement_ending, p_state text, p_charged bigint[], p_number bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  id text := penstock_ledger_id();
BEGIN
  INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, charged, model, request_id, job_id,
      run_id, service_client, client_name, user_agent, settled_at, end_user, tags, parent, answered_model, provider, upstream_id, status,
      error_code, first_token_ms, tokens, cost_nano, cost_version, sequence)
    SELECT id, l.org_id, l.key_id, l.user_id, 'adjustment', CASE WHEN l.charged IS NULL AND p_charged <> penstock_zeros() THEN 'settled' ELSE 'released' END, l.period_start,
      penstock_zeros(), p_charged, l.model, l.request_id, l.job_id, l.run_id, l.service_client, l.client_name, l.user_agent,
      clock_timestamp(), l.end_user, l.tags, l.parent, e.answered_model, e.provider, e.upstream_id, e.status, e.error_code,
      e.first_token_ms, e.tokens, e.cost_nano, e.cost_version, p_number
    FROM usage_ledger l WHERE l.operation_id = e.operation_id;
  UPDATE usage_ledger l SET state = p_state, swept = false, correction = id WHERE l.operation_id = e.operation_id;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_drop(p_keep integer, p_now timestamp with time zone DEFAULT clock_timestamp())
 RETURNS text
 LANGUAGE plpgsql
AS $function$
DECLARE
  month timestamptz;
  first text;
  next text;
BEGIN
  PERFORM pg_advisory_xact_lock(7301, 2);
  SELECT to_date(right(c.relname, 7), 'YYYY_MM')::timestamp AT TIME ZONE 'UTC' INTO month
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'usage_ledger'::regclass AND c.relname ~ '^usage_ledger_[0-9]{4}_[0-9]{2}$'
    ORDER BY c.relname LIMIT 1;
  IF month IS NULL OR month >= penstock_month_start(p_now, -p_keep) THEN
    RETURN 'none';
  END IF;
  first := penstock_ledger_bound(month);
  next := penstock_ledger_bound(penstock_month_start(month, 1));
  IF penstock_ledger_needed(first, next) THEN
    RETURN 'kept';
  END IF;
  PERFORM set_config('lock_timeout', '50ms', true);
  BEGIN
    LOCK TABLE usage_ledger IN ACCESS EXCLUSIVE MODE;
  EXCEPTION WHEN lock_not_available THEN
    RETURN 'busy';
  END;
  -- Checks again for operations that began (and perhaps ended) meanwhile.
  IF penstock_ledger_needed(first, next) THEN
    RETURN 'kept';
  END IF;
  UPDATE installation i SET ledger_dropped_before = greatest(i.ledger_dropped_before, next);
  PERFORM penstock_ledger_remove(month);
  RETURN 'dropped';
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_id()
 RETURNS text
 LANGUAGE sql
AS $function$
  SELECT 'op_' || substr(penstock_event_id(), 5)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_late_cost(p_op text, p_outcome jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  l usage_ledger;
  e settlement_ending := penstock_ending(p_op, NULL, p_outcome);
BEGIN
  SELECT * INTO l FROM usage_ledger q WHERE q.operation_id = p_op FOR UPDATE;
  IF NOT FOUND OR l.state = 'reserved' OR l.correction IS NOT NULL THEN
    RETURN false;
  END IF;
  PERFORM penstock_ledger_correct(e, l.state, penstock_zeros(), penstock_numbers(l.org_id, 1) + 1);
  IF l.counters IS NOT NULL THEN
    PERFORM penstock_budget_settle(ARRAY[ROW(l.counters, NULL, NULL, penstock_zeros(), e.cost_nano)::budget_ending]);
  END IF;
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_month(p_month timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  SELECT 'usage_ledger_' || to_char(p_month AT TIME ZONE 'UTC', 'YYYY_MM')
$function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_months(p_now timestamp with time zone DEFAULT clock_timestamp())
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO '$user', 'public'
AS $function$
DECLARE
  dropped_before CONSTANT text := COALESCE((SELECT i.ledger_dropped_before FROM installation i), '');
  name text;
  first text;
  next text;
  missing int := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(7301, 2);
  PERFORM set_config('lock_timeout', '100ms', true);
  FOR step IN -1 .. 2 LOOP
    name := penstock_ledger_month(penstock_month_start(p_now, step));
    first := penstock_ledger_bound(penstock_month_start(p_now, step));
    next := penstock_ledger_bound(penstock_month_start(p_now, step + 1));
    CONTINUE WHEN to_regclass(name) IS NOT NULL OR first COLLATE "C" < dropped_before;
    BEGIN
      EXECUTE format('CREATE TABLE %I (LIKE usage_ledger INCLUDING ALL) WITH (fillfactor = 80)', name);
      -- During this transaction, which has an exclusive lock, the owner may move rows.
      ALTER TABLE usage_ledger_default NO FORCE ROW LEVEL SECURITY;
      EXECUTE format('WITH moved AS (DELETE FROM usage_ledger_default WHERE operation_id >= %L AND operation_id < %L RETURNING *)
        INSERT INTO %I SELECT * FROM moved', first, next, name);
      ALTER TABLE usage_ledger_default FORCE ROW LEVEL SECURITY;
      EXECUTE format('ALTER TABLE usage_ledger ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, first, next);
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
      EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXCEPTION WHEN lock_not_available THEN
      missing := missing + 1;
    END;
  END LOOP;
  RETURN missing;
END $function$;
GRANT EXECUTE ON FUNCTION penstock_ledger_months(timestamp with time zone) TO penstock_system;

CREATE OR REPLACE FUNCTION public.penstock_ledger_needed(p_first text, p_next text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
BEGIN
  RETURN EXISTS (SELECT 1 FROM usage_ledger l WHERE l.state = 'reserved' AND l.operation_id >= p_first AND l.operation_id < p_next)
    OR EXISTS (SELECT 1 FROM balances b LEFT JOIN usage_folds f ON f.org_id = b.org_id CROSS JOIN LATERAL (
        SELECT 1 FROM usage_ledger l WHERE l.org_id = b.org_id AND l.sequence > COALESCE(f.sequence, 0)
          AND l.operation_id >= p_first AND l.operation_id < p_next LIMIT 1) l
      WHERE NOT b.superseded AND b.sequence > COALESCE(f.sequence, 0));
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_opening(b balances)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO usage_ledger (operation_id, org_id, kind, state, period_start, reserved, charged, settled_at, sequence, opening)
    VALUES (penstock_ledger_id(), b.org_id, 'period', 'settled', b.period_start, penstock_zeros(), penstock_zeros(), clock_timestamp(),
      penstock_numbers(b.org_id, 1) + 1, jsonb_build_object('periodStart', penstock_iso(b.period_start), 'periodEnd', penstock_iso(b.period_end),
        'allowance', b.allowance, 'topupStart', b.topup_start, 'topupAdded', b.topup_added, 'used', b.used));
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_ledger_remove(p_month timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO '$user', 'public'
AS $function$
BEGIN
  EXECUTE format('DROP TABLE %I', penstock_ledger_month(p_month));
END $function$;
GRANT EXECUTE ON FUNCTION penstock_ledger_remove(timestamp with time zone) TO penstock_system;

CREATE OR REPLACE FUNCTION public.penstock_ledger_restore(p_op text, p_fallback jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  b balances;
BEGIN
  IF EXISTS (SELECT 1 FROM usage_ledger l WHERE l.operation_id = p_op)
      OR (SELECT p_op COLLATE "C" < i.ledger_dropped_before FROM installation i) THEN
    RETURN;
  END IF;
  b := penstock_balance_open(p_fallback ->> 'org', (p_fallback ->> 'version')::bigint,
    ARRAY(SELECT a.value::bigint FROM jsonb_array_elements_text(p_fallback -> 'allowance') WITH ORDINALITY a (value, nth) ORDER BY nth));
  INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id, job_id,
      run_id, service_client, client_name, user_agent, end_user, tags, parent, restored, counters)
    VALUES (p_op, p_fallback ->> 'org', p_fallback ->> 'key', p_fallback ->> 'user', p_fallback ->> 'kind', 'reserved',
      b.period_start, penstock_zeros(), p_fallback ->> 'model', p_fallback ->> 'request', p_fallback ->> 'job',
      p_fallback ->> 'run', p_fallback ->> 'serviceClient', p_fallback ->> 'clientName', p_fallback ->> 'userAgent',
      p_fallback ->> 'endUser', ARRAY(SELECT jsonb_array_elements_text(p_fallback -> 'tags')), p_fallback ->> 'parent', true,
      penstock_budget_restore(p_fallback -> 'budgets'))
    ON CONFLICT DO NOTHING;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_message(p_head text, p_time text, p_type text, p_org_id text, p_data jsonb)
 RETURNS jsonb
 LANGUAGE sql
AS $function$
  SELECT jsonb_build_object('id', p_head || penstock_event_tail(), 'type', p_type, 'orgId', p_org_id,
    'timestamp', p_time, 'data', p_data)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_month_start(p_at timestamp with time zone, p_after integer)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT (date_trunc('month', p_at AT TIME ZONE 'UTC') + p_after * interval '1 month') AT TIME ZONE 'UTC'
$function$;

CREATE OR REPLACE FUNCTION public.penstock_ms_since(p_at timestamp with time zone)
 RETURNS integer
 LANGUAGE sql
AS $function$
  SELECT least(greatest(date_part('epoch', clock_timestamp() - p_at) * 1000, 0), 2147483647)::int
$function$;

CREATE OR REPLACE FUNCTION public.penstock_no_flags()
 RETURNS boolean[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_fill(false, ARRAY[cardinality(penstock_bucket_names())])
$function$;

CREATE OR REPLACE FUNCTION public.penstock_numbers(p_org text, p_wanted integer)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
  last bigint;
BEGIN
  LOOP
    UPDATE balances b SET sequence = b.sequence + p_wanted WHERE b.org_id = p_org AND NOT b.superseded RETURNING b.sequence INTO last;
    -- Not found if the next period began while this call waited.
    IF FOUND THEN
      RETURN last - p_wanted;
    END IF;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_numbers_after(p_org text, p_period timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
  last bigint;
BEGIN
  LOOP
    PERFORM 1 FROM balances b WHERE b.org_id = p_org AND b.period_start > p_period ORDER BY b.period_start FOR UPDATE;
    SELECT b.sequence INTO last FROM balances b WHERE b.org_id = p_org AND NOT b.superseded FOR UPDATE;
    IF FOUND THEN
      RETURN last;
    END IF;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_outbox_take(p_relay text, p_limit integer, p_lease_ms integer, p_published bigint[], p_held bigint[])
 RETURNS SETOF outbox
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  IF cardinality(p_published) > 0 THEN
    DELETE FROM outbox WHERE id = ANY (p_published);
  END IF;
  IF p_limit <= 0 OR cardinality(p_held) = 0 AND NOT EXISTS (SELECT 1 FROM outbox) THEN
    UPDATE outbox_publisher SET holder = NULL, until = '-infinity' WHERE holder = p_relay;
    RETURN;
  END IF;
  UPDATE outbox_publisher SET holder = p_relay, until = clock_timestamp() + p_lease_ms * interval '1 ms'
    WHERE holder IS NULL OR holder = p_relay OR until < clock_timestamp();
  IF NOT FOUND THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT o.* FROM outbox o WHERE o.id <> ALL (p_held) ORDER BY o.id LIMIT p_limit;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_outcome_sum(p_outcome jsonb, p_earlier jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT CASE WHEN p_earlier IS NULL
      OR COALESCE(string_to_array(p_earlier ->> 'upstreamId', ' ') <@ string_to_array(p_outcome ->> 'upstreamId', ' '), false)
    THEN p_outcome
    ELSE p_outcome || jsonb_build_object(
      'costNano', ((p_outcome ->> 'costNano')::numeric + (p_earlier ->> 'costNano')::numeric)::text,
      'costVersion', COALESCE(p_outcome ->> 'costVersion', p_earlier ->> 'costVersion'),
      'upstreamId', NULLIF(concat_ws(' ', p_earlier ->> 'upstreamId', p_outcome ->> 'upstreamId'), ''),
      'tokens', CASE WHEN jsonb_typeof(p_outcome -> 'tokens') = 'object' OR jsonb_typeof(p_earlier -> 'tokens') = 'object' THEN (
        SELECT jsonb_object_agg(k, COALESCE((p_outcome #>> ARRAY['tokens', k])::bigint, 0) + COALESCE((p_earlier #>> ARRAY['tokens', k])::bigint, 0))
        FROM unnest(ARRAY['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning']) k) END)
    END
$function$;

CREATE OR REPLACE FUNCTION public.penstock_period(p_anchor timestamp with time zone, p_at timestamp with time zone, OUT period_start timestamp with time zone, OUT period_end timestamp with time zone)
 RETURNS record
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  SELECT (a + make_interval(months => n)) AT TIME ZONE 'UTC', (a + make_interval(months => n + 1)) AT TIME ZONE 'UTC'
  FROM (
    SELECT a, GREATEST(0, m - CASE WHEN a + make_interval(months => m) > t THEN 1 ELSE 0 END) AS n
    FROM (
      SELECT a, t, ((date_part('year', t) - date_part('year', a)) * 12 + date_part('month', t) - date_part('month', a))::int AS m
      FROM (SELECT p_anchor AT TIME ZONE 'UTC' AS a, p_at AT TIME ZONE 'UTC' AS t) utc
    ) months
  ) whole_months
$function$;

CREATE OR REPLACE FUNCTION public.penstock_plan_changed(p_org_id text, p_allowance bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  o record;
  b balances;
BEGIN
  SELECT g.anchor_at, g.version, p.period_start, p.period_end INTO STRICT o
    FROM organizations g, penstock_period(g.anchor_at, clock_timestamp()) p WHERE g.id = p_org_id;
  SELECT * INTO b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded FOR UPDATE;
  IF FOUND AND b.anchor_at <> o.anchor_at AND b.period_end > o.period_start THEN
    b.period_end := greatest(o.period_start, b.period_start + interval '1 microsecond');
    UPDATE balances c SET period_end = b.period_end WHERE c.org_id = p_org_id AND c.period_start = b.period_start;
    PERFORM penstock_balance_next(b, p_org_id, o.version, p_allowance);
  ELSE
    PERFORM penstock_balance_open(p_org_id, o.version, p_allowance);
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_quota(p_org_id text, p_allowances jsonb)
 RETURNS json
 LANGUAGE plpgsql
AS $function$
DECLARE
  o record;
  b balances;
BEGIN
  SELECT g.plan_code, g.version,
      g.subscription_status = 'cancelled' AND COALESCE(g.subscription_ends_at <= clock_timestamp(), false) AS ended
    INTO o FROM organizations g WHERE g.id = p_org_id;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  b := penstock_balance_open(p_org_id, o.version, ARRAY(
    SELECT v.value::bigint FROM jsonb_array_elements_text(p_allowances -> CASE WHEN o.ended THEN 'free' ELSE o.plan_code END)
      WITH ORDINALITY v (value, nth) ORDER BY nth));
  RETURN json_build_object('code', o.plan_code, 'entitled', NOT o.ended, 'periodEnd', penstock_iso(b.period_end),
    'balance', penstock_balance_show(b)::json);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_refuse()
 RETURNS text
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION SQLSTATE 'PM001';
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_release(p_operation_id text, p_outcome jsonb DEFAULT NULL::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN penstock_settle_many(ARRAY[penstock_ending(p_operation_id, NULL, p_outcome)])::jsonb #> '{items,0,0}' = '1';
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_response_append(r responses, p_events text[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
DECLARE
  last int := r.sequence + cardinality(p_events);
BEGIN
  IF cardinality(p_events) = 0 THEN
    RETURN last;
  END IF;
  INSERT INTO response_events (response_id, org_id, first, last, events)
    VALUES (r.id, r.org_id, r.sequence + 1, last, p_events);
  UPDATE responses q SET sequence = last WHERE q.id = r.id;
  IF (SELECT i.kafka FROM installation i) THEN
    PERFORM penstock_emit('responses', r.id, penstock_event('response.events', r.org_id,
        jsonb_build_object('responseId', r.id, 'first', r.sequence + 1, 'events', to_jsonb(p_events)))
      || jsonb_build_object('sequence', last));
  END IF;
  PERFORM pg_notify('penstock_response_event', r.id || ':' || last);
  RETURN last;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_response_cancel(p_org text, p_id text, p_response text, p_sequence integer, p_event text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  r responses;
BEGIN
  SELECT * INTO r FROM responses q WHERE q.id = p_id AND q.org_id = p_org FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  ELSIF r.status NOT IN ('queued', 'in_progress') THEN
    RETURN false;
  ELSIF r.status = 'queued' AND r.sequence = p_sequence THEN
    PERFORM penstock_response_finish(r, 'cancelled', p_response, '{}', ARRAY[p_event], NULL, NULL, NULL, NULL);
  ELSE
    UPDATE responses q SET cancelling = true WHERE q.id = p_id;
    PERFORM pg_notify('penstock_response_cancel', p_id);
    PERFORM pg_notify('penstock_response_pending', '');
  END IF;
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_response_create(p jsonb, p_response text, p_input text, p_request text, p_item_ids text[], p_events text[])
 RETURNS text
 LANGUAGE plpgsql
AS $function$
DECLARE
  r responses;
BEGIN
  INSERT INTO responses (id, org_id, key_id, user_id, status, model, previous_id, response, input, item_ids, request, request_id, client,
      prompt_tokens, max_tokens, idempotency_key, fingerprint, kind)
    VALUES (p ->> 'id', p ->> 'orgId', p ->> 'keyId', p ->> 'userId', 'queued', p ->> 'model', p ->> 'previousId', p_response, p_input,
      p_item_ids, p_request, p ->> 'requestId', p -> 'client', (p ->> 'promptTokens')::int, (p ->> 'maxTokens')::int, p ->> 'key',
      p ->> 'fingerprint', p ->> 'kind')
    ON CONFLICT (org_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING * INTO r;
  IF r.id IS NULL THEN
    RETURN (SELECT q.id FROM responses q WHERE q.org_id = p ->> 'orgId' AND q.idempotency_key = p ->> 'key');
  END IF;
  PERFORM penstock_attach(p ->> 'operationId', NULL);
  IF p ->> 'boundTo' IS NOT NULL THEN
    PERFORM penstock_idempotency_bind(p ->> 'boundTo', r.id);
  END IF;
  PERFORM penstock_response_append(r, p_events);
  PERFORM pg_notify('penstock_response_pending', '');
  RETURN r.id;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_response_end(p_worker text, p_id text, p_fence integer, p_status text, p_response text, p_item_ids text[], p_events text[], p_amounts bigint[], p_event jsonb, p_trace text, p_outcome jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  r responses;
BEGIN
  SELECT * INTO r FROM responses q WHERE q.id = p_id AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM penstock_response_finish(r, p_status, p_response, p_item_ids, p_events, p_amounts, p_event, p_trace, p_outcome);
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_response_finish(r responses, p_status text, p_response text, p_item_ids text[], p_events text[], p_amounts bigint[], p_event jsonb, p_trace text, p_outcome jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  bytes bigint;
BEGIN
  PERFORM penstock_response_append(r, p_events);
  SELECT COALESCE(sum(pg_column_size(b.events)), 0) INTO bytes FROM response_events b WHERE b.response_id = r.id;
  UPDATE responses q SET status = p_status, response = p_response, item_ids = q.item_ids || p_item_ids, request = NULL, worker_id = NULL,
      lease_until = NULL, event_bytes = bytes
    WHERE q.id = r.id;
  UPDATE stored_bytes s SET bytes = s.bytes + bytes_of.n
    FROM (SELECT bytes + octet_length(p_response) - octet_length(r.response) AS n) bytes_of
    WHERE s.org_id = r.org_id AND s.part = 9 + (hashtext(r.id) & 7);
  IF p_amounts IS NULL THEN
    PERFORM penstock_release('op_' || substr(r.id, 6), p_outcome);
  ELSE
    PERFORM penstock_settle('op_' || substr(r.id, 6), p_amounts, p_outcome);
    IF p_event IS NOT NULL THEN
      PERFORM penstock_emit('events', r.org_id, penstock_event(p_event ->> 'type', r.org_id, p_event -> 'data'), p_trace);
    END IF;
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_response_goes_on(p_worker text, p_id text, p_fence integer, p_model text, p_upstream_id text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE responses q SET upstream_model = p_model, upstream_id = p_upstream_id
    WHERE q.id = p_id AND q.worker_id = p_worker AND q.fence = p_fence;
  RETURN FOUND;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_response_keep(p jsonb, p_response text, p_input text, p_item_ids text[], p_events text[], p_lease_ms integer)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  r responses;
BEGIN
  INSERT INTO responses (id, org_id, key_id, user_id, status, model, previous_id, response, input, item_ids, request, request_id, client,
      prompt_tokens, max_tokens, fence, worker_id, lease_until)
    VALUES (p ->> 'id', p ->> 'orgId', p ->> 'keyId', p ->> 'userId', 'in_progress', p ->> 'model', p ->> 'previousId', p_response,
      p_input, p_item_ids, '', p ->> 'requestId', p -> 'client', (p ->> 'promptTokens')::int, (p ->> 'maxTokens')::int, 1,
      p ->> 'workerId', clock_timestamp() + p_lease_ms * interval '1 ms')
    ON CONFLICT (id) DO NOTHING
    RETURNING * INTO r;
  IF r.id IS NULL THEN
    RETURN EXISTS (SELECT FROM responses q WHERE q.id = p ->> 'id' AND q.worker_id = p ->> 'workerId');
  ELSIF NOT (p ->> 'isOver')::boolean AND NOT penstock_attach(p ->> 'operationId', NULL) THEN
    DELETE FROM responses q WHERE q.id = r.id;
    RETURN false;
  END IF;
  PERFORM penstock_response_append(r, p_events);
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_responses_append(p_worker text, p_ids text[], p_fences integer[], p_after integer[], p_from integer[], p_to integer[], p_events text[])
 RETURNS TABLE(id text, cancelling boolean)
 LANGUAGE plpgsql
AS $function$
DECLARE
  mine record;
  r responses;
BEGIN
  FOR mine IN
    SELECT * FROM unnest(p_ids, p_fences, p_after, p_from, p_to) AS m (id, fence, after, low, high) ORDER BY m.id COLLATE "C"
  LOOP
    SELECT * INTO r FROM responses q WHERE q.id = mine.id AND q.worker_id = p_worker AND q.fence = mine.fence FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    IF r.sequence = mine.after THEN
      PERFORM penstock_response_append(r, p_events[mine.low:mine.high]);
    END IF;
    id := r.id;
    cancelling := r.cancelling;
    RETURN NEXT;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_responses_claim(p_worker text, p_slots integer, p_newcomers integer, p_lease_ms integer)
 RETURNS SETOF responses
 LANGUAGE plpgsql
AS $function$
DECLARE
  places int;
BEGIN
  FOR pass IN 1 .. 2 LOOP
    places := CASE pass WHEN 1 THEN p_slots ELSE p_newcomers END;
    CONTINUE WHEN places <= 0;
    RETURN QUERY
      WITH RECURSIVE waiting AS (
        (SELECT w.org_id FROM responses w WHERE w.status IN ('queued', 'in_progress') AND w.worker_id IS NULL ORDER BY w.org_id LIMIT 1)
        UNION ALL
        SELECT (SELECT w.org_id FROM responses w
            WHERE w.status IN ('queued', 'in_progress') AND w.worker_id IS NULL AND w.org_id > o.org_id ORDER BY w.org_id LIMIT 1)
          FROM waiting o WHERE o.org_id IS NOT NULL
      ), worked AS MATERIALIZED (
        SELECT w.org_id, count(*) AS n FROM responses w
        WHERE w.status IN ('queued', 'in_progress') AND w.worker_id IS NOT NULL AND w.request <> '' GROUP BY w.org_id
      ), candidates AS (
        SELECT c.id, COALESCE(w.n, 0) + c.nth AS nth
        FROM waiting o LEFT JOIN worked w ON w.org_id = o.org_id
        CROSS JOIN LATERAL (
          SELECT q.id, row_number() OVER (ORDER BY q.id) AS nth FROM responses q
          WHERE q.status IN ('queued', 'in_progress') AND q.worker_id IS NULL AND q.org_id = o.org_id
          ORDER BY q.id LIMIT CASE pass WHEN 1 THEN 2 * places + 8 ELSE 1 END) c
        WHERE o.org_id IS NOT NULL AND (pass = 1 OR w.n IS NULL)
      ), picked AS MATERIALIZED (
        SELECT q.id FROM candidates c JOIN responses q ON q.id = c.id AND q.status IN ('queued', 'in_progress') AND q.worker_id IS NULL
        ORDER BY c.nth, c.id LIMIT places FOR UPDATE OF q SKIP LOCKED
      )
      UPDATE responses r SET status = 'in_progress', fence = r.fence + 1, worker_id = p_worker,
          lease_until = clock_timestamp() + p_lease_ms * interval '1 ms'
        FROM picked WHERE r.id = picked.id RETURNING r.*;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_responses_gone()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT g.org_id, 9 + (hashtext(g.id) & 7), -sum(octet_length(g.response) + octet_length(g.input) + g.event_bytes), -count(*) FROM gone g
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  DELETE FROM response_events e USING gone g WHERE e.response_id = g.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_responses_kept()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT a.org_id, 9 + (hashtext(a.id) & 7), sum(octet_length(a.response) + octet_length(a.input) + a.event_bytes), count(*)
    FROM added a
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_responses_sweep()
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
BEGIN
  WITH lost AS (
    SELECT r.id FROM responses r
    WHERE r.status IN ('queued', 'in_progress') AND r.worker_id IS NOT NULL AND r.lease_until < clock_timestamp()
    ORDER BY r.id LIMIT 200 FOR UPDATE OF r SKIP LOCKED
  )
  UPDATE responses r SET worker_id = NULL, lease_until = NULL, fence = r.fence + 1 FROM lost WHERE r.id = lost.id;
  RETURN EXISTS (SELECT FROM responses r WHERE r.status IN ('queued', 'in_progress') AND r.worker_id IS NULL);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_run_advance(p_worker text, p_id text, p_fence integer, p jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  r agent_runs;
BEGIN
  SELECT * INTO r FROM agent_runs q
    WHERE q.id = p_id AND q.status = 'running' AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- A repeated call: the first one was committed, but its answer was lost.
  IF (r.state ->> 'writes')::int >= (p -> 'state' ->> 'writes')::int THEN
    RETURN true;
  END IF;
  PERFORM penstock_run_work(r, p -> 'operations', p -> 'steps', (p ->> 'tokens')::bigint);
  UPDATE agent_runs q SET state = p -> 'state' WHERE q.id = p_id;
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_run_cancel(p_org text, p_id text)
 RETURNS TABLE(moved boolean, run agent_runs)
 LANGUAGE plpgsql
AS $function$
DECLARE
  r agent_runs;
BEGIN
  SELECT * INTO r FROM agent_runs q WHERE q.id = p_id AND q.org_id = p_org FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF r.status <> 'running' THEN
    RETURN QUERY SELECT false, r;
    RETURN;
  END IF;
  PERFORM pg_notify('penstock_run_cancel', r.id);
  r := penstock_run_finish(r, 'cancelled', 'Cancelled');
  RETURN QUERY SELECT true, r;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_run_create(p jsonb)
 RETURNS agent_runs
 LANGUAGE plpgsql
AS $function$
DECLARE
  r agent_runs;
BEGIN
  INSERT INTO agent_runs (id, org_id, user_id, key_id, token_id, agent_id, agent_org_id, agent, session_id, end_user, attribution, input, attachments, history,
      operation_id, request_id, client, plan_code, sequence)
    VALUES (p ->> 'id', p ->> 'orgId', p ->> 'userId', p ->> 'keyId', p ->> 'tokenId', p ->> 'agentId', p ->> 'agentOrgId', p -> 'agent',
      p ->> 'sessionId', p ->> 'endUser', p -> 'attribution', p ->> 'input', p -> 'attachments', p -> 'history', p ->> 'operationId', p ->> 'requestId',
      p -> 'client', p ->> 'planCode', 1)
    RETURNING * INTO r;
  PERFORM penstock_attach(r.operation_id, NULL, r.id);
  IF p ->> 'idempotencyKey' IS NOT NULL THEN
    PERFORM penstock_idempotency_bind(p ->> 'idempotencyKey', r.id);
  END IF;
  INSERT INTO agent_sessions (org_id, agent_id, session_id) VALUES (r.org_id, r.agent_id, r.session_id) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM penstock_emit('events', r.org_id, penstock_event('chat.conversation.created', r.org_id, jsonb_build_object(
      'conversationId', r.session_id, 'agentId', r.agent_id, 'agentName', r.agent ->> 'name')), r.client ->> 'traceparent');
  END IF;
  UPDATE agents a SET run_count = run_count + 1 WHERE a.id = r.agent_id;
  PERFORM penstock_run_event(r, 'start', jsonb_build_object('run_id', r.id, 'session_id', r.session_id));
  PERFORM pg_notify('penstock_run_pending', '');
  RETURN r;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_run_end(p_worker text, p_id text, p_fence integer, p jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  r agent_runs;
BEGIN
  SELECT * INTO r FROM agent_runs q
    WHERE q.id = p_id AND q.status = 'running' AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  r := penstock_run_work(r, p -> 'operations', p -> 'steps', (p ->> 'tokens')::bigint);
  PERFORM penstock_run_finish(r, p ->> 'status', p ->> 'text', p ->> 'code');
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_run_event(r agent_runs, p_type text, p_data jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  kind text := CASE p_type WHEN 'start' THEN 'run.started' WHEN 'step' THEN 'run.step' ELSE 'run.' || r.status END;
BEGIN
  INSERT INTO agent_run_events (run_id, org_id, sequence, type, data, status, total_steps, tokens_used, credits_used)
    VALUES (r.id, r.org_id, r.sequence, p_type, p_data, r.status, r.total_steps, r.tokens_used, r.credits_used);
  PERFORM penstock_emit('agents', r.id, penstock_event(kind, r.org_id,
      p_data || jsonb_build_object('agent_id', r.agent_id, 'run_id', r.id, 'status', r.status))
    || jsonb_build_object('sequence', r.sequence));
  PERFORM pg_notify('penstock_run_event', concat_ws(':', r.id, r.sequence, r.org_id));
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_run_finish(r agent_runs, p_status text, p_text text, p_code text DEFAULT 'server_error'::text)
 RETURNS agent_runs
 LANGUAGE plpgsql
AS $function$
DECLARE
  done agent_runs := r;
BEGIN
  done := penstock_run_work(r, jsonb_build_array(jsonb_build_object('id', r.operation_id,
    'amounts', CASE WHEN r.total_steps > 0 THEN
      (SELECT to_jsonb(l.reserved) FROM usage_ledger l WHERE l.operation_id = r.operation_id) END,
    'outcome', jsonb_build_object('status', CASE p_status WHEN 'completed' THEN 'succeeded' ELSE p_status END,
      'errorCode', CASE p_status WHEN 'failed' THEN p_code END, 'costNano', '0'))),
    CASE WHEN p_status = 'failed' AND r.total_steps > 0
      THEN jsonb_build_array(jsonb_build_object('type', 'error', 'content', p_text)) ELSE '[]' END, 0);
  UPDATE agent_runs q SET status = p_status, sequence = q.sequence + 1, completed_at = clock_timestamp(), worker_id = NULL,
      lease_until = NULL, deadline = NULL, state = NULL,
      output = CASE WHEN p_status = 'completed' THEN p_text END, error_message = CASE WHEN p_status <> 'completed' THEN p_text END
    WHERE q.id = r.id RETURNING * INTO done;
  IF p_status = 'completed' THEN
    PERFORM penstock_run_event(done, 'done', jsonb_build_object('run_id', done.id, 'output', p_text,
      'credits_used', done.credits_used / 100, 'tokens_used', done.tokens_used));
    PERFORM penstock_run_webhook(done, 'agent.run.completed', jsonb_build_object('output', p_text, 'totalSteps', done.total_steps,
      'durationMs', floor(extract(epoch FROM done.completed_at - done.created_at) * 1000)::bigint,
      'unitsUsed', 1, 'unitType', 'agent_runs'));
  ELSE
    PERFORM penstock_run_event(done, 'error', jsonb_build_object('error', p_text));
    PERFORM penstock_run_webhook(done, 'agent.run.failed', jsonb_build_object('errorMessage', p_text));
  END IF;
  RETURN done;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_run_webhook(r agent_runs, p_type text, p_data jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM penstock_emit('events', r.org_id, penstock_event(p_type, r.org_id, jsonb_build_object('runId', r.id, 'agentId', r.agent_id,
    'agentName', r.agent ->> 'name', 'input', r.input) || p_data));
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_run_work(r agent_runs, p_operations jsonb, p_steps jsonb, p_tokens bigint)
 RETURNS agent_runs
 LANGUAGE plpgsql
AS $function$
DECLARE
  item jsonb;
  settled jsonb;
  charged bigint := 0;
  now_r agent_runs := r;
BEGIN
  FOR item IN SELECT o.value FROM jsonb_array_elements(p_operations) WITH ORDINALITY o (value, nth) ORDER BY nth LOOP
    IF jsonb_typeof(item -> 'amounts') = 'array' THEN
      settled := penstock_settle(item ->> 'id', ARRAY(
        SELECT a.value::bigint FROM jsonb_array_elements_text(item -> 'amounts') WITH ORDINALITY a (value, nth) ORDER BY nth),
        item -> 'outcome', item -> 'fallback');
      charged := charged + (settled -> 'charged' ->> 0)::bigint;
    ELSE
      PERFORM penstock_release(item ->> 'id', item -> 'outcome');
    END IF;
  END LOOP;
  IF charged > 0 OR p_tokens > 0 THEN
    UPDATE agent_runs q SET credits_used = q.credits_used + charged, tokens_used = q.tokens_used + p_tokens WHERE q.id = r.id
      RETURNING * INTO now_r;
  END IF;
  FOR item IN SELECT s.value FROM jsonb_array_elements(p_steps) WITH ORDINALITY s (value, nth) ORDER BY nth LOOP
    UPDATE agent_runs q SET total_steps = q.total_steps + 1, sequence = q.sequence + 1 WHERE q.id = r.id RETURNING * INTO now_r;
    INSERT INTO agent_run_steps (run_id, org_id, step_number, step_type, content, tool_name, tool_input, tool_output)
      VALUES (r.id, r.org_id, now_r.total_steps, item ->> 'type', item ->> 'content', item ->> 'tool', item -> 'input', item -> 'output');
    PERFORM penstock_run_event(now_r, 'step', jsonb_build_object('run_id', r.id, 'step', jsonb_strip_nulls(jsonb_build_object(
      'step_number', now_r.total_steps, 'type', item ->> 'type', 'content', item ->> 'content', 'tool', item ->> 'tool'))
      || CASE WHEN item ? 'input' THEN jsonb_build_object('tool_input', item -> 'input') ELSE '{}' END
      || CASE WHEN item ? 'output' THEN jsonb_build_object('tool_output', item -> 'output') ELSE '{}' END));
  END LOOP;
  RETURN now_r;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_runs_advance(p_worker text, p jsonb)
 RETURNS SETOF boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  item jsonb;
BEGIN
  PERFORM 1 FROM agent_runs q WHERE q.id IN (SELECT i.value ->> 'id' FROM jsonb_array_elements(p) i)
    ORDER BY q.id FOR UPDATE;
  FOR item IN SELECT i.value FROM jsonb_array_elements(p) WITH ORDINALITY i (value, nth) ORDER BY nth LOOP
    RETURN NEXT penstock_run_advance(p_worker, item ->> 'id', (item ->> 'fence')::int, item -> 'work');
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_runs_claim(p_worker text, p_slots integer, p_newcomers integer, p_lease_ms integer, p_limit_ms bigint, p_resting text[])
 RETURNS SETOF agent_runs
 LANGUAGE plpgsql
AS $function$
DECLARE
  picked record;
  r agent_runs;
  places int;
BEGIN
  FOR pass IN 1 .. 2 LOOP
    places := CASE pass WHEN 1 THEN p_slots ELSE p_newcomers END;
    CONTINUE WHEN places <= 0;
    FOR picked IN
      WITH RECURSIVE waiting AS (
        (SELECT w.org_id FROM agent_runs w WHERE w.status = 'running' AND w.worker_id IS NULL ORDER BY w.org_id LIMIT 1)
        UNION ALL
        SELECT (SELECT w.org_id FROM agent_runs w
            WHERE w.status = 'running' AND w.worker_id IS NULL AND w.org_id > o.org_id ORDER BY w.org_id LIMIT 1)
          FROM waiting o WHERE o.org_id IS NOT NULL
      ), worked AS MATERIALIZED (
        SELECT w.org_id, count(*) AS runs FROM agent_runs w
        WHERE w.status = 'running' AND w.worker_id IS NOT NULL AND w.id <> ALL (p_resting) GROUP BY w.org_id
      ), candidates AS (
        SELECT c.id, COALESCE(w.runs, 0) + c.nth AS nth
        FROM waiting o LEFT JOIN worked w ON w.org_id = o.org_id
        CROSS JOIN LATERAL (
          SELECT q.id, row_number() OVER (ORDER BY q.id) AS nth FROM agent_runs q
          WHERE q.status = 'running' AND q.worker_id IS NULL AND q.org_id = o.org_id
          ORDER BY q.id LIMIT CASE pass WHEN 1 THEN 2 * places + 8 ELSE 1 END) c
        WHERE o.org_id IS NOT NULL AND (pass = 1 OR w.runs IS NULL)
      )
      SELECT q.id, q.started_at IS NULL AS fresh
      FROM candidates c JOIN agent_runs q ON q.id = c.id AND q.status = 'running' AND q.worker_id IS NULL
      ORDER BY c.nth, c.id LIMIT places FOR UPDATE OF q SKIP LOCKED
    LOOP
      UPDATE agent_runs SET fence = fence + 1, worker_id = p_worker, lease_until = clock_timestamp() + p_lease_ms * interval '1 ms',
          started_at = COALESCE(started_at, clock_timestamp()),
          deadline = COALESCE(deadline, clock_timestamp() + p_limit_ms * interval '1 ms')
        WHERE id = picked.id RETURNING * INTO r;
      IF picked.fresh THEN
        PERFORM penstock_run_webhook(r, 'agent.run.started', '{}');
      END IF;
      RETURN NEXT r;
    END LOOP;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_runs_end(p_worker text, p jsonb)
 RETURNS SETOF boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  item jsonb;
BEGIN
  PERFORM 1 FROM agent_runs q WHERE q.id IN (SELECT i.value ->> 'id' FROM jsonb_array_elements(p) i)
    ORDER BY q.id FOR UPDATE;
  FOR item IN SELECT i.value FROM jsonb_array_elements(p) WITH ORDINALITY i (value, nth) ORDER BY nth LOOP
    RETURN NEXT penstock_run_end(p_worker, item ->> 'id', (item ->> 'fence')::int, item -> 'work');
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_runs_sweep()
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
DECLARE
  r agent_runs;
  moved int := 0;
BEGIN
  FOR r IN
    SELECT q.* FROM agent_runs q
    WHERE q.status = 'running' AND (q.lease_until < clock_timestamp() OR q.deadline < clock_timestamp() - interval '5 s')
    ORDER BY q.org_id, q.id LIMIT 200 FOR UPDATE SKIP LOCKED
  LOOP
    PERFORM penstock_run_finish(r, 'failed', CASE WHEN r.lease_until < clock_timestamp() THEN 'Agent run was interrupted'
      ELSE 'Agent run timed out' END);
    moved := moved + 1;
  END LOOP;
  RETURN moved;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_set_used(p_org_id text, p_allowances jsonb, p_bucket integer, p_used bigint, p_operation_id text)
 RETURNS json
 LANGUAGE plpgsql
AS $function$
DECLARE
  b balances;
  change bigint[] := penstock_zeros();
BEGIN
  IF penstock_quota(p_org_id, p_allowances) IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT * INTO STRICT b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded;
  change[p_bucket] := p_used - b.used[p_bucket];
  INSERT INTO usage_ledger (operation_id, org_id, kind, state, period_start, reserved, charged, settled_at, sequence)
    VALUES (p_operation_id, p_org_id, 'adjustment', 'settled', b.period_start, penstock_zeros(), change, clock_timestamp(),
      penstock_numbers(p_org_id, 1) + 1);
  b.used[p_bucket] := p_used;
  RETURN json_build_object('balance', penstock_balance_show(penstock_balance_write(b))::json);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_settle(p_operation_id text, p_amounts bigint[], p_outcome jsonb DEFAULT NULL::jsonb, p_fallback jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
DECLARE
  answer jsonb := penstock_settle_many(ARRAY[penstock_ending(p_operation_id, p_amounts, p_outcome, p_fallback)]);
BEGIN
  RETURN jsonb_strip_nulls(jsonb_build_object(
    'applied', answer #> '{items,0,0}' = '1',
    'charged', COALESCE(answer #> '{items,0,2}', to_jsonb(penstock_zeros())),
    'balances', answer #> '{balances,0}'));
END $function$;

CREATE OR REPLACE PROCEDURE public.penstock_settle_batch(IN p_endings settlement_ending[], IN p_events json, INOUT p_answer text DEFAULT NULL::text)
 LANGUAGE plpgsql
AS $procedure$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  p_answer := penstock_settle_many(p_endings);
  PERFORM penstock_settle_events(p_events, p_answer);
  IF EXISTS (SELECT 1 FROM unnest(p_endings) e WHERE e.amounts IS NOT NULL) THEN
    COMMIT;
    PERFORM set_config('synchronous_commit', 'on', true);
    PERFORM pg_logical_emit_message(true, 'penstock', '');
  END IF;
END $procedure$;

CREATE OR REPLACE FUNCTION public.penstock_settle_events(p_events json, p_answer text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM penstock_emit('events', e.org, penstock_event(e.type, e.org, e.data), e.trace)
    FROM penstock_heard_events(p_events) e
    WHERE p_answer::jsonb #> ARRAY['items', (e.at - 1)::text, '0'] = '1';
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_settle_many(p_endings settlement_ending[], p_swept boolean DEFAULT false)
 RETURNS text
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
  zeros CONSTANT bigint[] := penstock_zeros();
  width CONSTANT int := cardinality(zeros);
  r record;
  b balances;
  opened boolean := false;
  fires boolean;
  now_used bigint[];
  now_reserved bigint[];
  items text[] := array_fill('[2,-1]'::text, ARRAY[cardinality(p_endings)]);
  shown text[] := '{}';
  charged bigint[];
  charged_text text;
  last_op text;
  -- For the current balance: the last number before, and the number of applied ends.
  number bigint;
  ends int;
  -- The operations that end now, in the order of `p_endings`.
  ended_number bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_endings)]);
  ended_charged text[] := array_fill(NULL::text, ARRAY[cardinality(p_endings)]);
  -- The ones of them that budgets count.
  counted budget_ending[] := '{}';
  want bigint;
  had bigint;
  room bigint;
BEGIN
  IF cardinality(p_endings) > 1 THEN
    PERFORM 1 FROM usage_ledger l WHERE l.operation_id = ANY (ARRAY(SELECT e.operation_id FROM unnest(p_endings) e))
      ORDER BY l.operation_id COLLATE "C" FOR UPDATE;
  END IF;
  PERFORM penstock_ledger_restore(e.operation_id, e.fallback) FROM unnest(p_endings) e WHERE e.fallback IS NOT NULL
    ORDER BY e.operation_id COLLATE "C";
  FOR r IN
    SELECT e.*, e.operation_id AS op, e.ordinality::int AS i, l.org_id, l.period_start, l.state, l.swept, l.reserved, l.counters, l.reserved_nano,
      0 = ALL (l.reserved[3:]) AND COALESCE(0 = ALL (e.amounts[3:]), true) AS only_tokens
    FROM unnest(p_endings) WITH ORDINALITY e JOIN usage_ledger l ON l.operation_id = e.operation_id
    ORDER BY l.org_id COLLATE "C", l.period_start, e.operation_id, e.ordinality FOR UPDATE OF l
  LOOP
    IF NOT opened OR b.org_id <> r.org_id OR b.period_start <> r.period_start THEN
      IF opened THEN
        shown := shown || penstock_balance_close(b, now_used, now_reserved, fires, ends);
      END IF;
      SELECT * INTO STRICT b FROM balances c WHERE c.org_id = r.org_id AND c.period_start = r.period_start FOR UPDATE;
      number := CASE WHEN b.superseded THEN penstock_numbers_after(b.org_id, b.period_start) ELSE b.sequence END;
      ends := 0;
      opened := true;
      fires := b.superseded;
      now_used := b.used;
      now_reserved := b.reserved;
    END IF;
    IF r.op = last_op THEN
      items[r.i] := '[0,' || cardinality(shown) || ',' || charged_text || ']';
      CONTINUE;
    END IF;
    IF r.state = 'settled' OR r.state = 'released' AND (r.amounts IS NULL OR NOT r.swept) THEN
      items[r.i] := '[0,' || cardinality(shown) || ',' || array_to_json(COALESCE(
        (SELECT penstock_ledger_charge(l) FROM usage_ledger l WHERE l.operation_id = r.op), zeros)) || ']';
      CONTINUE;
    END IF;
    charged := zeros;
    FOR k IN 1 .. CASE WHEN r.only_tokens THEN 2 ELSE width END LOOP
      had := CASE WHEN r.state = 'reserved' THEN r.reserved[k] ELSE 0 END;
      want := COALESCE(r.amounts[k], 0);
      CONTINUE WHEN want = 0 AND had = 0;
      IF k = 2 THEN
        want := least(want, charged[1] * 1000);
      ELSIF want > had AND b.allowance[k] <> -1 THEN
        room := b.allowance[k] - now_used[k] - now_reserved[k];
        IF NOT b.superseded THEN
          room := room + b.topup_start[k] + b.topup_added[k];
        END IF;
        room := least(want - had, greatest(room, 0));
        want := had + CASE WHEN k = 1 THEN room / 100 * 100 ELSE room END;
      END IF;
      charged[k] := want;
      now_used[k] := now_used[k] + want;
      now_reserved[k] := now_reserved[k] - had;
      IF NOT fires AND k <> 2 AND b.allowance[k] <> -1 THEN
        room := b.allowance[k] + b.topup_start[k] + b.topup_added[k];
        fires := (room - now_used[k]) * 10 < room AND NOT b.depleted_fired[k];
      END IF;
    END LOOP;
    charged_text := array_to_json(charged);
    items[r.i] := '[1,' || cardinality(shown) || ',' || charged_text || ']';
    last_op := r.op;
    ends := ends + 1;
    IF r.counters IS NOT NULL THEN
      counted := counted || ROW(r.counters, CASE WHEN r.state = 'reserved' THEN r.reserved END,
        CASE WHEN r.state = 'reserved' THEN r.reserved_nano END, charged, r.cost_nano)::budget_ending;
    END IF;
    IF r.state = 'reserved' THEN
      ended_number[r.i] := number + ends;
      ended_charged[r.i] := CASE WHEN r.amounts IS NOT NULL THEN charged::text END;
    ELSE
      PERFORM penstock_ledger_correct(p_endings[r.i], 'settled', charged, number + ends);
    END IF;
  END LOOP;
  IF opened THEN
    shown := shown || penstock_balance_close(b, now_used, now_reserved, fires, ends);
  END IF;
  UPDATE usage_ledger l SET state = CASE WHEN e.charged IS NULL THEN 'released' ELSE 'settled' END, charged = e.charged::bigint[],
      swept = p_swept, settled_at = clock_timestamp(), sequence = e.number,
      latency_ms = CASE WHEN l.restored IS NOT TRUE THEN penstock_ms_since(l.created_at) END,
      status = COALESCE(e.status, CASE WHEN e.charged IS NULL THEN 'cancelled' ELSE 'succeeded' END), error_code = e.error_code,
      answered_model = e.answered_model, provider = e.provider, upstream_id = e.upstream_id, first_token_ms = e.first_token_ms,
      tokens = e.tokens, cost_nano = e.cost_nano, cost_version = e.cost_version
    FROM ROWS FROM (unnest(p_endings), unnest(ended_number), unnest(ended_charged)) e (operation_id, amounts, fallback, status, error_code,
      answered_model, provider, upstream_id, first_token_ms, tokens, cost_nano, cost_version, number, charged)
    WHERE l.operation_id = e.operation_id AND e.number IS NOT NULL;
  IF cardinality(counted) > 0 THEN
    PERFORM penstock_budget_settle(counted);
  END IF;
  RETURN '{"items":[' || array_to_string(items, ',') || '],"balances":[' || array_to_string(shown, ',') || ']}';
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_still_covered(b balances)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_agg(least(c, u + r) ORDER BY nth) FROM unnest(b.covered, b.used, b.reserved) WITH ORDINALITY v (c, u, r, nth)
$function$;

CREATE OR REPLACE FUNCTION public.penstock_sweep(p_lease_ms integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
DECLARE
  lost text[];
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  IF NOT pg_try_advisory_xact_lock(7301, 1) THEN
    RETURN 0;
  END IF;
  SELECT COALESCE(array_agg(s.operation_id), '{}') INTO lost FROM (
    SELECT l.operation_id FROM usage_ledger l
    LEFT JOIN processes p ON p.id = l.holder
    WHERE l.state = 'reserved' AND l.holder IS NOT NULL
      AND COALESCE(p.lease_until, l.created_at + p_lease_ms * interval '1 ms') < clock_timestamp()
    ORDER BY l.operation_id COLLATE "C" LIMIT 500 FOR UPDATE OF l SKIP LOCKED) s;
  IF cardinality(lost) > 0 THEN
    PERFORM penstock_settle_many(ARRAY(
      SELECT penstock_ending(l.id, NULL, '{"status": "failed", "errorCode": "unavailable", "costNano": "0"}') FROM unnest(lost) l (id)), true);
  ELSE
    DELETE FROM processes p WHERE p.lease_until < clock_timestamp() - interval '1 day';
    DELETE FROM rate_windows w WHERE w.stamps[cardinality(w.stamps)]
      < (date_part('epoch', clock_timestamp() - interval '1 day') * 1000000)::bigint;
  END IF;
  RETURN cardinality(lost);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_take_back(p_ops text[])
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
DECLARE
  r record;
  b balances;
  left_used bigint[];
  change bigint[];
  counted budget_ending[] := '{}';
  taken int := 0;
BEGIN
  PERFORM 1 FROM usage_ledger l WHERE l.operation_id = ANY (p_ops) ORDER BY l.operation_id COLLATE "C" FOR UPDATE;
  FOR r IN
    SELECT l.operation_id, l.org_id, l.period_start, l.counters, penstock_ledger_charge(l) AS charged FROM usage_ledger l
      WHERE l.operation_id = ANY (p_ops) AND l.state = 'settled' AND l.given IS NOT TRUE
      ORDER BY l.org_id COLLATE "C", l.period_start, l.operation_id
  LOOP
    SELECT * INTO STRICT b FROM balances c WHERE c.org_id = r.org_id AND c.period_start = r.period_start FOR UPDATE;
    IF b.superseded THEN
      PERFORM penstock_numbers_after(b.org_id, b.period_start);
    END IF;
    left_used := (SELECT array_agg(greatest(u - c, 0) ORDER BY nth) FROM unnest(b.used, r.charged) WITH ORDINALITY v (u, c, nth));
    change := (SELECT array_agg(n - u ORDER BY nth) FROM unnest(left_used, b.used) WITH ORDINALITY v (n, u, nth));
    PERFORM penstock_ledger_correct(penstock_ending(r.operation_id, NULL), 'released', change, penstock_numbers(r.org_id, 1) + 1);
    b.used := left_used;
    PERFORM penstock_balance_write(b);
    IF r.counters IS NOT NULL THEN
      counted := counted || ROW(r.counters, NULL, NULL, change, NULL)::budget_ending;
    END IF;
    taken := taken + 1;
  END LOOP;
  IF cardinality(counted) > 0 THEN
    PERFORM penstock_budget_settle(counted);
  END IF;
  RETURN taken;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_token_vector(p_credits bigint, p_tokens bigint)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT ARRAY[p_credits, p_tokens] || (penstock_zeros())[3:]
$function$;

CREATE OR REPLACE FUNCTION public.penstock_top_up(p_org_id text, p_allowances jsonb, p_bucket integer, p_amount bigint, p_operation_id text)
 RETURNS json
 LANGUAGE plpgsql
AS $function$
DECLARE
  b balances;
  granted bigint[] := penstock_zeros();
BEGIN
  IF penstock_quota(p_org_id, p_allowances) IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT * INTO STRICT b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded;
  IF b.allowance[p_bucket] = -1 THEN
    RETURN json_build_object('balance', NULL);
  END IF;
  granted[p_bucket] := p_amount;
  INSERT INTO usage_ledger (operation_id, org_id, kind, state, period_start, reserved, charged, granted, settled_at, sequence)
    VALUES (p_operation_id, p_org_id, 'top_up', 'settled', b.period_start, penstock_zeros(), penstock_zeros(), granted,
      clock_timestamp(), penstock_numbers(p_org_id, 1) + 1);
  b.topup_added[p_bucket] := b.topup_added[p_bucket] + p_amount;
  RETURN json_build_object('balance', penstock_balance_show(penstock_balance_write(b))::json);
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_add_up(p_org text, p_level integer, p_from timestamp with time zone, p_until timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET work_mem TO '64MB'
 SET jit TO 'off'
AS $function$
DECLARE
  s record := penstock_usage_sums();
BEGIN
  IF p_level > 1 THEN
    EXECUTE format($sql$
      INSERT INTO usage_rollups (org_id, level, dims, start, model, provider, key_id, end_user, operation, status, tag, %1$s)
      SELECT $1, $4, dims, date_bin($5, start, 'epoch') AS at, model, provider, key_id, end_user, operation, status, tag, %2$s
        FROM usage_rollups WHERE org_id = $1 AND level = $4 - 1 AND start >= $2 AND start < $3
        GROUP BY dims, at, model, provider, key_id, end_user, operation, status, tag
        ORDER BY dims, at, model, provider, key_id, operation, status, tag$sql$, s.names, s.sums)
      USING p_org, p_from, p_until, p_level, penstock_usage_step(p_level);
  END IF;
  IF p_level IN (1, 3) THEN
    PERFORM penstock_usage_group_cells(p_org, p_level, p_from, p_until);
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_columns()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT ARRAY['requests', 'errors', 'unpriced', 'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens',
    'reasoning_tokens', 'cost_nano', 'latency'] || penstock_bucket_names()
$function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_fold(p_org text, p_most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET work_mem TO '64MB'
 SET jit TO 'off'
AS $function$
DECLARE
  f usage_folds;
  names CONSTANT text := (penstock_usage_sums()).names;
  charged CONSTANT text := (SELECT string_agg(format('penstock_sum(charged[%s])', nth), ', ')
    FROM generate_subscripts(penstock_bucket_names(), 1) nth);
  taken int;
  last bigint;
  latest timestamptz;
  touched timestamptz[];
BEGIN
  INSERT INTO usage_folds (org_id) VALUES (p_org) ON CONFLICT DO NOTHING;
  SELECT * INTO f FROM usage_folds c WHERE c.org_id = p_org FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  EXECUTE format($sql$
    WITH taken AS MATERIALIZED (
      SELECT l.*, l.kind NOT IN ('adjustment', 'top_up', 'period', 'hold') AS is_call FROM usage_ledger l
        WHERE l.org_id = $1 AND l.sequence > $2 ORDER BY l.sequence LIMIT $3
    ), added AS (
      INSERT INTO usage_cells (org_id, start, period_start, model, provider, key_id, end_user, operation, status, tags, %1$s)
      SELECT $1, date_bin('15 minutes', settled_at, 'epoch') AS at, period_start, model, provider, key_id, end_user, kind, status, named.tags,
          count(*) FILTER (WHERE is_call), count(*) FILTER (WHERE is_call AND status = 'failed'), count(*) FILTER (WHERE is_call AND cost_nano IS NULL),
          penstock_sum(tokens[1]), penstock_sum(tokens[2]), penstock_sum(tokens[3]), penstock_sum(tokens[4]), penstock_sum(tokens[5]),
          penstock_sum(cost_nano), COALESCE(sum(penstock_latency_digit(latency_ms)), 0), %2$s
        FROM taken CROSS JOIN LATERAL (SELECT CASE WHEN cardinality(taken.tags) < 2 THEN taken.tags
          ELSE ARRAY(SELECT DISTINCT t FROM unnest(taken.tags) t ORDER BY t) END AS tags) named
        WHERE is_call OR kind = 'adjustment'
        GROUP BY at, period_start, model, provider, key_id, end_user, kind, status, named.tags
      RETURNING start
    )
    SELECT (SELECT count(*) FROM taken), (SELECT max(sequence) FROM taken), (SELECT max(settled_at) FROM taken),
      (SELECT array_agg(DISTINCT date_bin('30 minutes', start, 'epoch')) FROM added WHERE start < $4)$sql$, names, charged)
    INTO taken, last, latest, touched USING p_org, f.sequence, p_most, f.whole_until[1];
  IF taken = 0 THEN
    RETURN 0;
  END IF;
  UPDATE usage_folds c SET sequence = last, folded_at = greatest(c.folded_at, latest) WHERE c.org_id = p_org;
  PERFORM penstock_usage_regroup(p_org, touched, f.whole_until);
  RETURN taken;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_group(p_org text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE
  f usage_folds;
  step interval;
  over timestamptz;
  from_time timestamptz;
  until_time timestamptz;
BEGIN
  SELECT * INTO f FROM usage_folds c WHERE c.org_id = p_org FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  FOR nth IN REVERSE cardinality(f.whole_until) .. 2 LOOP
    step := penstock_usage_step(nth);
    over := date_bin(step, f.whole_until[nth - 1], 'epoch');
    CONTINUE WHEN f.whole_until[nth] >= over;
    SELECT date_bin(step, min(c.start), 'epoch') INTO from_time FROM usage_cells c WHERE c.org_id = p_org AND c.start >= f.whole_until[nth];
    until_time := least(from_time + step, over);
    IF from_time < until_time THEN
      PERFORM penstock_usage_add_up(p_org, nth, from_time, until_time);
    END IF;
    UPDATE usage_folds c SET whole_until[nth] = CASE WHEN from_time < until_time THEN until_time ELSE over END WHERE c.org_id = p_org;
    RETURN true;
  END LOOP;
  over := CASE WHEN EXISTS (SELECT 1 FROM balances b WHERE b.org_id = p_org AND NOT b.superseded AND b.sequence > f.sequence)
    THEN f.folded_at ELSE clock_timestamp() - interval '5 minutes' END;
  SELECT date_bin('30 minutes', min(c.start), 'epoch') INTO from_time FROM usage_cells c WHERE c.org_id = p_org AND c.start >= f.whole_until[1];
  -- Two hours at a time, and never past the end of four, so that those follow at once.
  until_time := least(from_time + interval '2 hours', date_bin('4 hours', from_time, 'epoch') + interval '4 hours', date_bin('30 minutes', over, 'epoch'));
  IF from_time IS NULL OR from_time >= until_time THEN
    RETURN false;
  END IF;
  PERFORM penstock_usage_merge(p_org, from_time, until_time);
  PERFORM penstock_usage_add_up(p_org, 1, from_time, until_time);
  UPDATE usage_folds c SET whole_until[1] = until_time WHERE c.org_id = p_org;
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_group_cells(p_org text, p_level integer, p_from timestamp with time zone, p_until timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET work_mem TO '64MB'
 SET jit TO 'off'
AS $function$
DECLARE
  s record := penstock_usage_sums();
  step CONSTANT interval := penstock_usage_step(p_level);
  sets CONSTANT text := CASE p_level
    WHEN 1 THEN '(), (model), (provider), (key_id), (end_user), (operation), (status), (model, provider), (model, key_id), '
      '(model, operation), (model, status), (provider, key_id), (provider, operation), (provider, status), (key_id, operation), '
      '(key_id, status), (operation, status)'
    ELSE '(model, end_user), (provider, end_user), (key_id, end_user), (end_user, operation), (end_user, status)' END;
  tag_sets CONSTANT text := CASE p_level WHEN 1 THEN '(), (model), (provider), (key_id), (operation), (status)' ELSE '(end_user)' END;
  -- Columns that no set of a level contains; PostgreSQL has no GROUPING for them.
  grouped CONSTANT text[] := CASE p_level WHEN 1 THEN ARRAY['model', 'provider', 'key_id', 'operation', 'status'] ELSE ARRAY['end_user'] END;
  bits CONSTANT jsonb := '{"model": 1, "provider": 2, "key_id": 4, "end_user": 8, "operation": 16, "status": 32}';
BEGIN
  EXECUTE format($sql$
    INSERT INTO usage_rollups (org_id, level, dims, start, model, provider, key_id, end_user, operation, status, %1$s)
    SELECT $1, $4, 63 - GROUPING(status, operation, end_user, key_id, provider, model) AS dims, at, model, provider, key_id, end_user,
        operation, status, %2$s
      FROM (SELECT date_bin($5, start, 'epoch') AS at, * FROM usage_cells WHERE org_id = $1 AND start >= $2 AND start < $3) c
      GROUP BY at, GROUPING SETS (%3$s) ORDER BY dims, at, model, provider, key_id, operation, status$sql$, s.names, s.sums, sets)
    USING p_org, p_from, p_until, p_level, step;
  EXECUTE format($sql$
    INSERT INTO usage_rollups (org_id, level, dims, start, %4$s, tag, %1$s)
    SELECT $1, $4, 64 + %5$s AS dims, at, %4$s, tag, %2$s
      FROM (SELECT date_bin($5, start, 'epoch') AS at, * FROM usage_cells WHERE org_id = $1 AND start >= $2 AND start < $3) c
      CROSS JOIN LATERAL unnest(CASE WHEN tags = '{}' THEN ARRAY[NULL::text] ELSE tags END) t (tag)
      GROUP BY at, tag, GROUPING SETS (%3$s) ORDER BY dims, at$sql$, s.names, s.sums, tag_sets, array_to_string(grouped, ', '),
      (SELECT string_agg(format('%s * (1 - GROUPING(%s))', bits -> g, g), ' + ') FROM unnest(grouped) g))
    USING p_org, p_from, p_until, p_level, step;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_merge(p_org text, p_from timestamp with time zone, p_until timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET work_mem TO '64MB'
 SET jit TO 'off'
AS $function$
DECLARE
  s record := penstock_usage_sums();
  cell CONSTANT text := 'start, period_start, model, provider, key_id, end_user, operation, status, tags';
BEGIN
  EXECUTE format($sql$
    WITH old AS (DELETE FROM usage_cells WHERE ctid = ANY (ARRAY(
        SELECT unnest(array_agg(c.ctid)) FROM usage_cells c WHERE c.org_id = $1 AND c.start >= $2 AND c.start < $3
          GROUP BY %3$s HAVING count(*) > 1)) RETURNING *)
    INSERT INTO usage_cells (org_id, %3$s, %1$s) SELECT $1, %3$s, %2$s FROM old GROUP BY %3$s$sql$, s.names, s.sums, cell)
    USING p_org, p_from, p_until;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_rebuild(p_org text)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
  f usage_folds;
  whole_from bigint;
  begins timestamptz := 'epoch';
  kept bigint := 0;
  folded bigint := 0;
  taken int;
BEGIN
  INSERT INTO usage_folds (org_id) VALUES (p_org) ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT f FROM usage_folds c WHERE c.org_id = p_org FOR UPDATE;
  SELECT max(n.sequence) INTO whole_from FROM (
    SELECT l.sequence, lag(l.sequence, 1, 0::bigint) OVER (ORDER BY l.sequence) AS before
      FROM usage_ledger l WHERE l.org_id = p_org AND l.sequence IS NOT NULL) n WHERE n.sequence > n.before + 1;
  IF whole_from IS NOT NULL THEN
    SELECT date_bin('15 minutes', l.settled_at, 'epoch') + interval '15 minutes' INTO begins
      FROM usage_ledger l WHERE l.org_id = p_org AND l.sequence = whole_from;
    SELECT COALESCE(max(l.sequence), whole_from - 1) INTO kept FROM usage_ledger l
      WHERE l.org_id = p_org AND l.sequence >= whole_from AND l.sequence <= f.sequence AND l.settled_at < begins;
  END IF;
  DELETE FROM usage_cells c WHERE c.org_id = p_org AND c.start >= begins;
  DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.start >= date_bin(penstock_usage_step(r.level), begins, 'epoch');
  UPDATE usage_folds c SET sequence = kept, folded_at = begins, whole_until = ARRAY(
      SELECT least(w.until, date_bin(penstock_usage_step(w.level::int), begins, 'epoch')) FROM unnest(f.whole_until) WITH ORDINALITY w (until, level) ORDER BY w.level)
    WHERE c.org_id = p_org;
  LOOP
    taken := penstock_usage_fold(p_org, 50000);
    EXIT WHEN taken = 0;
    folded := folded + taken;
  END LOOP;
  WHILE penstock_usage_group(p_org) LOOP
  END LOOP;
  RETURN folded;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_regroup(p_org text, p_halves timestamp with time zone[], p_whole_until timestamp with time zone[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  weeks CONSTANT int := cardinality(p_whole_until);
  step interval;
  piece timestamptz;
BEGIN
  FOR nth IN 1 .. weeks - 1 LOOP
    step := penstock_usage_step(nth);
    FOR piece IN SELECT DISTINCT date_bin(step, h, 'epoch') FROM unnest(p_halves) h WHERE h < p_whole_until[nth] LOOP
      DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.level = nth AND r.start = piece;
      PERFORM penstock_usage_add_up(p_org, nth, piece, piece + step);
    END LOOP;
  END LOOP;
  SELECT date_bin(penstock_usage_step(weeks), min(h), 'epoch') INTO piece FROM unnest(p_halves) h WHERE h < p_whole_until[weeks];
  IF piece IS NOT NULL THEN
    DELETE FROM usage_rollups r WHERE r.org_id = p_org AND r.level = weeks AND r.start >= piece;
    UPDATE usage_folds f SET whole_until[weeks] = piece WHERE f.org_id = p_org;
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_step(p_level integer)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT (ARRAY['30 minutes', '4 hours', '1 day', '7 days']::interval[])[p_level]
$function$;

CREATE OR REPLACE FUNCTION public.penstock_usage_sums(OUT names text, OUT sums text)
 RETURNS record
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT string_agg(c, ', '), string_agg(CASE c WHEN 'latency' THEN 'sum' ELSE 'penstock_sum' END || '(' || c || ')', ', ') FROM unnest(penstock_usage_columns()) c
$function$;

CREATE OR REPLACE FUNCTION public.penstock_webhook_claim(p_claim text, p_busy jsonb, p_limit integer, p_per_webhook integer, p_claim_ms integer, p_first_delay_ms bigint)
 RETURNS TABLE(id text, org_id text, webhook_id text, event jsonb, url text, custom_headers jsonb, secret bytea, next_secret bytea, rotating boolean, places integer, format text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
DECLARE
  v_now timestamptz;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(7310, 1);
  v_now := clock_timestamp();
  RETURN QUERY
    WITH RECURSIVE waiting (webhook_id) AS (
      (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'pending' ORDER BY d.webhook_id LIMIT 1)
      UNION ALL
      SELECT (SELECT d.webhook_id FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.webhook_id > t.webhook_id ORDER BY d.webhook_id LIMIT 1)
      FROM waiting t WHERE t.webhook_id IS NOT NULL
    ), target AS (
      SELECT w.id, w.org_id, GREATEST(0, LEAST(
          CASE WHEN w.consecutive_failures > 1 THEN LEAST(2, p_per_webhook) ELSE p_per_webhook END
            - COALESCE((p_busy ->> w.id)::int, 0),
          10 - w.consecutive_failures - (
            SELECT count(*)::int FROM webhook_deliveries f
            WHERE f.webhook_id = w.id AND f.claim IS NOT NULL AND f.claimed_until >= v_now))) AS places
      FROM waiting t JOIN webhooks w ON w.id = t.webhook_id WHERE w.enabled
    ), due AS (
      SELECT x.id, x.next_attempt_at, t.org_id, t.places
      FROM target t
      CROSS JOIN LATERAL (
        SELECT d.id, d.next_attempt_at FROM webhook_deliveries d
        WHERE d.webhook_id = t.id AND d.status = 'pending' AND d.next_attempt_at <= v_now
          AND (d.claimed_until IS NULL OR d.claimed_until < v_now)
          AND (d.scheduled_attempts > 0 OR p_first_delay_ms = 0
            OR d.next_attempt_at + p_first_delay_ms * interval '1 ms' <= v_now)
        ORDER BY d.next_attempt_at LIMIT t.places
        FOR UPDATE SKIP LOCKED
      ) x
      WHERE t.places > 0
    ), turns AS (
      SELECT d.id, d.places, row_number() OVER (PARTITION BY d.org_id ORDER BY d.next_attempt_at, d.id) AS turn FROM due d
    ), chosen AS (
      SELECT t.id, t.places FROM turns t ORDER BY t.turn, t.id LIMIT p_limit
    ), claimed AS (
      UPDATE webhook_deliveries d SET claimed_until = v_now + p_claim_ms * interval '1 ms', claim = p_claim
      FROM chosen WHERE d.id = chosen.id
      RETURNING d.id, d.org_id, d.webhook_id, d.event_id, chosen.places
    )
    SELECT c.id, c.org_id, c.webhook_id, e.event, w.url, w.custom_headers, w.secret, w.next_secret,
      COALESCE(w.rotates_at > v_now, false), c.places, w.format
    FROM claimed c JOIN webhooks w ON w.id = c.webhook_id JOIN webhook_events e ON e.id = c.event_id;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_webhook_count(p_webhook text, p_failed timestamp with time zone[], p_succeeded timestamp with time zone[], p_disable_after integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  w webhooks;
  times timestamptz[];
  untimed int;
  since timestamptz;
  success timestamptz;
  disabled boolean := false;
BEGIN
  SELECT * INTO STRICT w FROM webhooks x WHERE x.id = p_webhook;
  times := w.failure_times[GREATEST(1, cardinality(w.failure_times) - w.consecutive_failures + 1):];
  untimed := w.consecutive_failures - cardinality(times);
  since := COALESCE(w.failures_after, '-infinity');
  IF p_failed IS NOT NULL THEN
    times := ARRAY(SELECT t FROM unnest(times || p_failed) t WHERE t > since ORDER BY t);
  END IF;
  FOREACH success IN ARRAY COALESCE(p_succeeded, '{}') LOOP
    CONTINUE WHEN success <= since;
    disabled := disabled OR untimed + (SELECT count(*) FROM unnest(times) t WHERE t <= success) >= p_disable_after;
    times := ARRAY(SELECT t FROM unnest(times) t WHERE t > success ORDER BY t);
    untimed := 0;
    since := success;
  END LOOP;
  IF untimed + cardinality(times) >= p_disable_after THEN
    disabled := disabled OR NOT EXISTS (
      SELECT 1 FROM webhook_deliveries d
      WHERE d.webhook_id = p_webhook AND d.claim IS NOT NULL AND d.event_type <> 'webhook.test' AND d.claimed_until > clock_timestamp()
        AND d.claimed_until - interval '60 seconds' <= times[GREATEST(1, p_disable_after - untimed)]);
  END IF;
  UPDATE webhooks x SET
    consecutive_failures = untimed + cardinality(times),
    failure_times = times[GREATEST(1, cardinality(times) - 31):],
    failures_after = NULLIF(since, '-infinity'),
    last_delivery_at = GREATEST(x.last_delivery_at, p_failed[cardinality(p_failed)], p_succeeded[cardinality(p_succeeded)]),
    enabled = x.enabled AND NOT disabled,
    disabled_reason = CASE WHEN x.enabled AND disabled THEN p_disable_after || ' consecutive failed attempts' ELSE x.disabled_reason END
    WHERE x.id = p_webhook;
  IF w.enabled AND disabled THEN
    INSERT INTO audit_log (id, org_id, actor_kind, action, subject_id, subject_name, before, after)
      VALUES ('aud_' || substr(penstock_event_id(), 5), w.org_id, 'system', 'webhook_disabled', w.id, w.name,
        '{"enabled": true}', '{"enabled": false}');
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_webhook_fan_out()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  v_type text := NEW.event ->> 'type';
  v_listing text[];
  v_getting text[];
BEGIN
  IF NOT EXISTS (SELECT 1 FROM webhooks WHERE org_id = NEW.key) THEN
    RETURN NULL;
  END IF;
  SELECT array_agg(w.id), array_agg(w.id) FILTER (WHERE w.enabled) INTO v_listing, v_getting
    FROM webhooks w WHERE w.org_id = NEW.key AND v_type = ANY (w.events);
  IF v_getting IS NOT NULL AND v_type NOT LIKE 'subscription.%' AND NOT EXISTS (
    SELECT 1 FROM installation i, organizations o
    WHERE o.id = NEW.key AND (i.webhook_plans IS NULL OR i.webhook_plans @> ARRAY[
      CASE WHEN o.subscription_status = 'cancelled' AND o.subscription_ends_at <= clock_timestamp() THEN 'free'
        ELSE o.plan_code END]))
  THEN
    v_getting := NULL;
  END IF;
  INSERT INTO webhook_events (id, org_id, type, event, missed_by)
    VALUES (NEW.event ->> 'id', NEW.key, v_type, NEW.event,
      ARRAY(SELECT unnest(v_listing) EXCEPT SELECT unnest(v_getting))) ON CONFLICT DO NOTHING;
  IF v_getting IS NULL THEN
    RETURN NULL;
  END IF;
  INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_id, event_type, next_attempt_at)
    SELECT 'dlv' || substr(penstock_event_id(), 4), w.org_id, w.id, NEW.event ->> 'id', v_type, clock_timestamp()
    FROM webhooks w WHERE w.id = ANY (v_getting)
    FOR KEY SHARE OF w
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM pg_notify('penstock_webhook', '');
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_webhook_record(p_batch jsonb, p_delays_ms bigint[], p_disable_after integer)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  v_now timestamptz := clock_timestamp();
  r record;
BEGIN
  PERFORM 1 FROM webhooks w
    WHERE w.id IN (SELECT x.webhook_id FROM jsonb_array_elements(p_batch) b JOIN webhook_deliveries x ON x.id = b ->> 'id')
    ORDER BY w.id FOR NO KEY UPDATE;
  FOR r IN
    WITH finished AS (
      SELECT b ->> 'id' AS id, b ->> 'claim' AS claim, b ->> 'kind' AS kind, (b ->> 'ok')::boolean AS ok, b -> 'attempt' AS attempt,
        LEAST(v_now, to_timestamp((b ->> 'endedAt')::float8 / 1000)) AS ended
      FROM jsonb_array_elements(p_batch) b
    ), written AS (
      UPDATE webhook_deliveries x SET
        attempts = x.attempts || f.attempt,
        scheduled_attempts = x.scheduled_attempts + (f.kind = 'scheduled')::int,
        status = CASE
          WHEN f.ok THEN 'succeeded'
          WHEN f.kind = 'test' THEN 'failed'
          WHEN f.kind = 'manual' THEN x.status
          WHEN x.scheduled_attempts + 1 >= cardinality(p_delays_ms) THEN 'failed'
          ELSE 'pending' END,
        next_attempt_at = CASE
          WHEN f.ok OR f.kind = 'test' THEN NULL
          WHEN f.kind = 'manual' THEN x.next_attempt_at
          WHEN x.scheduled_attempts + 1 >= cardinality(p_delays_ms) THEN NULL
          ELSE f.ended + p_delays_ms[x.scheduled_attempts + 2] * interval '1 ms' END,
        claimed_until = NULL, claim = NULL
        FROM finished f WHERE x.id = f.id AND x.claim = f.claim
        RETURNING x.id, x.webhook_id, f.ok, f.ended, f.kind <> 'test' AND x.event_type <> 'webhook.test' AS counts
    )
    SELECT d.webhook_id, array_agg(d.id) AS ids, bool_or(d.counts) AS counts,
      array_agg(d.ended ORDER BY d.ended) FILTER (WHERE d.counts AND NOT d.ok) AS failed,
      array_agg(d.ended ORDER BY d.ended) FILTER (WHERE d.counts AND d.ok) AS succeeded
    FROM written d GROUP BY d.webhook_id
  LOOP
    IF r.counts THEN
      PERFORM penstock_webhook_count(r.webhook_id, r.failed, r.succeeded, p_disable_after);
    END IF;
    RETURN QUERY SELECT unnest(r.ids);
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_webhook_recover(p_org text, p_webhook text, p_since timestamp with time zone, p_until timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
  failed bigint;
  missed bigint;
BEGIN
  UPDATE webhook_deliveries d
    SET status = 'pending', scheduled_attempts = 0, next_attempt_at = clock_timestamp()
    FROM webhook_events e
    WHERE d.webhook_id = p_webhook AND d.org_id = p_org AND d.status = 'failed' AND e.id = d.event_id
      AND e.type <> 'webhook.test' AND e.created_at >= p_since AND e.created_at <= p_until;
  GET DIAGNOSTICS failed = ROW_COUNT;
  INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_id, event_type, next_attempt_at)
    SELECT 'dlv' || substr(penstock_event_id(), 4), w.org_id, w.id, e.id, e.type, clock_timestamp()
    FROM webhooks w JOIN webhook_events e ON e.org_id = w.org_id AND e.type = ANY (w.events) AND e.created_at >= w.created_at
    WHERE w.id = p_webhook AND w.org_id = p_org AND e.created_at >= p_since AND e.created_at <= p_until
      AND w.id = ANY (e.missed_by)
    FOR KEY SHARE OF w
    ON CONFLICT (webhook_id, event_id) DO NOTHING;
  GET DIAGNOSTICS missed = ROW_COUNT;
  PERFORM pg_notify('penstock_webhook', '');
  RETURN failed + missed;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_window_open(p_key text, p_name text, p_grain integer, p_stamps integer, p_length bigint, OUT slots integer, OUT gains_at bigint, OUT now_us bigint)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
DECLARE
  w rate_windows;
  expired int;
BEGIN
  SELECT * INTO w FROM rate_windows q WHERE q.key_id = p_key AND q.name = p_name FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO rate_windows (key_id, name, grain, fill, stamps)
      VALUES (p_key, p_name, p_grain, p_grain, array_fill(0::bigint, ARRAY[p_stamps])) ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT w FROM rate_windows q WHERE q.key_id = p_key AND q.name = p_name FOR UPDATE;
  END IF;
  now_us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  IF w.grain <> p_grain OR cardinality(w.stamps) <> p_stamps THEN
    w.stamps := penstock_window_resize(w.stamps, w.grain, w.fill, p_grain, p_stamps);
    w.fill := p_grain;
    UPDATE rate_windows q SET stamps = w.stamps, grain = p_grain, fill = p_grain WHERE q.key_id = p_key AND q.name = p_name;
  END IF;
  expired := width_bucket(now_us - p_length, w.stamps);
  slots := expired * p_grain + CASE WHEN expired = p_stamps THEN 0 ELSE p_grain - w.fill END;
  gains_at := CASE WHEN expired = p_stamps THEN now_us ELSE w.stamps[expired + 1] END + p_length;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_window_resize(p_old bigint[], p_old_grain integer, p_old_fill integer, p_grain integer, p_stamps integer)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_agg(COALESCE(s.stamp, 0) ORDER BY n.nth DESC)
  FROM generate_series(0, p_stamps - 1) n (nth)
  LEFT JOIN (
    SELECT covers.nth, max(o.stamp) AS stamp
    FROM unnest(p_old) WITH ORDINALITY o (stamp, i),
      LATERAL (SELECT p_old_fill + (cardinality(p_old) - o.i)::bigint * p_old_grain AS beyond) slots,
      LATERAL generate_series(greatest(0, slots.beyond - p_old_grain) / p_grain,
        LEAST((slots.beyond - 1) / p_grain, p_stamps - 1)) covers (nth)
    GROUP BY covers.nth) s ON s.nth = n.nth
$function$;

CREATE OR REPLACE FUNCTION public.penstock_window_return(p_key text, p_name text, p_at bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  w rate_windows;
  nth int;
BEGIN
  SELECT * INTO w FROM rate_windows q WHERE q.key_id = p_key AND q.name = p_name FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  nth := CASE WHEN w.grain = 1 THEN width_bucket(p_at, w.stamps) ELSE cardinality(w.stamps) END;
  IF nth = 0 OR w.stamps[nth] = 0 THEN
    RETURN;
  END IF;
  IF w.grain > 1 AND w.fill > 1 THEN
    UPDATE rate_windows q SET fill = w.fill - 1 WHERE q.key_id = p_key AND q.name = p_name;
  ELSE
    UPDATE rate_windows q SET stamps = 0::bigint || w.stamps[:nth - 1] || w.stamps[nth + 1:], fill = w.grain
      WHERE q.key_id = p_key AND q.name = p_name;
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_window_take(p_key text, p_name text, p_grain integer, p_stamps integer, p_length bigint, p_wanted integer, OUT slots integer, OUT gains_at bigint, OUT now_us bigint)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
DECLARE
  log bigint[];
  filled int;
  expired int;
  fresh int := p_wanted;
  stamp bigint;
BEGIN
  SELECT w.stamps, w.fill INTO log, filled FROM rate_windows w
    WHERE w.key_id = p_key AND w.name = p_name AND w.grain = p_grain AND cardinality(w.stamps) = p_stamps FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  now_us := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  stamp := greatest(now_us, log[p_stamps]);
  expired := width_bucket(now_us - p_length, log);
  IF p_grain > 1 THEN
    -- Free slots in the newest group; none if the group has left the window.
    IF expired = p_stamps THEN
      filled := p_grain;
    END IF;
    fresh := greatest(0, (p_wanted - (p_grain - filled) + p_grain - 1) / p_grain);
    IF filled < p_grain THEN
      log[p_stamps] := stamp;
    END IF;
    slots := expired * p_grain + p_grain - filled - p_wanted;
    filled := filled + p_wanted - fresh * p_grain;
  ELSE
    slots := expired - p_wanted;
  END IF;
  IF slots < 0 THEN
    slots := NULL;
    RETURN;
  END IF;
  IF fresh > 0 THEN
    log := (log || array_fill(stamp, ARRAY[fresh]))[fresh + 1:];
  END IF;
  UPDATE rate_windows w SET stamps = log, fill = filled WHERE w.key_id = p_key AND w.name = p_name;
  gains_at := log[least(p_stamps, greatest(1, expired - fresh + 1))] + p_length;
END $function$;

CREATE OR REPLACE FUNCTION public.penstock_zeros()
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_fill(0::bigint, ARRAY[cardinality(penstock_bucket_names())])
$function$;
