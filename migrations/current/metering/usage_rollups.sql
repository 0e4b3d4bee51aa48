-- The cells of a half hour (level 1), four hours (2), a day (3) or a week (4), all in UTC, summed in total, by each dimension
-- and by each pair of dimensions. `dims` is the set of dimensions, the sum of: model 1, provider 2, key 4, end user 8,
-- operation 16, status 32, tag 64; the columns of all other dimensions are null. A record counts once for each of its tags,
-- a record without tags counts for the tag null. Pairs with an end user exist only from days on: by half hour there would be as
-- many as records.
CREATE TABLE usage_rollups (
  org_id text COLLATE "C" NOT NULL,
  level smallint NOT NULL CHECK (level IN (1, 2, 3, 4)),
  dims smallint NOT NULL,
  start timestamptz NOT NULL,
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
  agent_runs bigint NOT NULL
);
-- A read selects a level, `dims` and a time, and may filter by either dimension; PostgreSQL skips from one time to the
-- next.
CREATE INDEX usage_rollups_by_start ON usage_rollups
  (org_id, level, dims, start, model, provider, key_id, operation, status, tag, end_user);

ALTER TABLE usage_rollups ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_rollups FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_rollups_tenant ON usage_rollups TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON usage_rollups TO penstock_tenant;
CREATE POLICY usage_rollups_system ON usage_rollups TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_rollups TO penstock_system;
