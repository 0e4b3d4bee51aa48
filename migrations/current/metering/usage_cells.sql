-- Usage in a quarter of an hour (`start`, of the settlement), by all dimensions that a summary can group or filter by.
-- A fold only adds rows: a cell may have several rows until its half hour has ended and they are merged. Sums are
-- exact, so results do not depend on the number of rows. `period_start` names the balance that was charged.
--
-- The sums: columns of buckets have the buckets' names, hundredths; `cost_nano` is the sum of the known costs, and
-- `unpriced` counts the operations whose cost is unknown. `latency` is a histogram in one number
-- (penstock_latency_digit).
CREATE TABLE usage_cells (
  org_id text COLLATE "C" NOT NULL,
  start timestamptz NOT NULL,
  period_start timestamptz NOT NULL,
  model text,
  provider text,
  key_id text,
  end_user text,
  operation text NOT NULL,
  status text,
  -- Sorted, without duplicates.
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
CREATE INDEX usage_cells_by_start ON usage_cells (org_id, start);
CREATE INDEX usage_cells_by_end_user ON usage_cells (org_id, end_user, start) WHERE end_user IS NOT NULL;

ALTER TABLE usage_cells ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_cells FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_cells_tenant ON usage_cells TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON usage_cells TO penstock_tenant;
CREATE POLICY usage_cells_system ON usage_cells TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_cells TO penstock_system;
