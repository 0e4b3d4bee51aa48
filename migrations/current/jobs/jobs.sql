-- Jobs. Every write of an attempt checks its worker and its fence (see take.sql). A job has a worker only while it is
-- processing.
CREATE TABLE jobs (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  user_id text NOT NULL,
  key_id text NOT NULL,
  tool text NOT NULL CHECK (tool IN ('image', 'image_edit', 'video', 'music', 'tts', 'stt')),
  status text NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'cancelled')),
  progress integer NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
  input_params jsonb NOT NULL,
  output_data jsonb,
  result jsonb,
  estimated_credits double precision NOT NULL,
  actual_credits double precision,
  error_message text,
  error_code text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  model text NOT NULL,
  model_tier text NOT NULL,
  multiplier integer NOT NULL,
  operation_id text NOT NULL UNIQUE,
  request_id text NOT NULL,
  client jsonb NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  fence integer NOT NULL DEFAULT 0,
  sequence integer NOT NULL DEFAULT 1,
  worker_id text,
  lease_until timestamptz,
  deadline timestamptz,
  -- Orders at upstreams (see orders.sql).
  orders jsonb,
  -- The cost of attempts that did not end the job (see spent.sql).
  spent jsonb,
  -- The attribution of the operation, needed if the database loses the operation (penstock_ledger_restore).
  counted_for jsonb,
  -- The parts that its caller reads before it completes (see job_parts.sql): {partials, logprobs}. Null: none.
  live jsonb,
  CHECK ((status = 'processing') = (worker_id IS NOT NULL AND lease_until IS NOT NULL)),
  CHECK ((status IN ('completed', 'failed', 'cancelled')) = (completed_at IS NOT NULL)),
  CHECK (status <> 'completed' OR (progress = 100 AND output_data IS NOT NULL AND actual_credits IS NOT NULL)),
  CHECK (status <> 'failed' OR error_message IS NOT NULL)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX jobs_by_org ON jobs (org_id, id);
CREATE INDEX jobs_by_org_tool ON jobs (org_id, tool, id);
CREATE INDEX jobs_open ON jobs (org_id, id) WHERE status IN ('pending', 'processing');
CREATE INDEX jobs_queue ON jobs (tool, org_id, id) WHERE status = 'pending';
CREATE INDEX jobs_leases ON jobs (lease_until) WHERE status = 'processing';
CREATE INDEX jobs_finished ON jobs (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX jobs_orders_left ON jobs (completed_at) WHERE orders IS NOT NULL AND status IN ('cancelled', 'failed');

ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY jobs_tenant ON jobs TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON jobs TO penstock_tenant;
CREATE POLICY jobs_system ON jobs TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON jobs TO penstock_system;
