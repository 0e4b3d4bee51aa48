-- Stored responses (beyond 12): the convention's object and the items of its input, as JSON texts. `item_ids` has the
-- ids of all items, because later requests may refer to them. The response and its operation have the same ULID. Short
-- answers are stored when they end. Responses in the background are stored when they begin: `request` is the input for
-- a worker (null after the end), `sequence` the number of the last event, `event_bytes` the size of the events on the
-- disk (set at the end; 0 if the answer came in one piece: its events follow from the answer, and none are stored). Answers of waiting callers are stored during their delivery: `request` is empty, because only
-- their process can continue them. A chat with an idempotency key is stored in the same way; its events are chunks and
-- an end. An open row without a worker waits to be claimed. `upstream_model` and `upstream_id` name an answer that its
-- upstream continues by itself, for the next worker.
CREATE TABLE responses (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  key_id text NOT NULL,
  user_id text NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
  model text NOT NULL,
  previous_id text,
  response text NOT NULL,
  input text NOT NULL,
  item_ids text[] NOT NULL,
  kind text NOT NULL DEFAULT 'response' CHECK (kind IN ('response', 'chat')),
  request text,
  request_id text,
  client jsonb,
  prompt_tokens int,
  max_tokens int,
  idempotency_key text,
  fingerprint text,
  sequence int NOT NULL DEFAULT 0,
  event_bytes bigint NOT NULL DEFAULT 0,
  cancelling boolean NOT NULL DEFAULT false,
  fence int NOT NULL DEFAULT 0,
  worker_id text,
  lease_until timestamptz,
  upstream_model text,
  upstream_id text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX responses_by_org ON responses (org_id, id);
CREATE INDEX responses_by_age ON responses (created_at);
CREATE UNIQUE INDEX responses_by_key ON responses (org_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Indexes of waiting and of claimed responses by organisation. A claim reads one entry for each organisation, however
-- many responses wait.
CREATE INDEX responses_queue ON responses (org_id, id) WHERE status IN ('queued', 'in_progress') AND worker_id IS NULL;
CREATE INDEX responses_worked ON responses (org_id, id)
  WHERE status IN ('queued', 'in_progress') AND worker_id IS NOT NULL AND request <> '';
CREATE INDEX responses_items ON responses USING gin (item_ids);

ALTER TABLE responses ENABLE ROW LEVEL SECURITY;
ALTER TABLE responses FORCE ROW LEVEL SECURITY;
CREATE POLICY responses_tenant ON responses TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON responses TO penstock_tenant;
CREATE POLICY responses_system ON responses TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON responses TO penstock_system;

-- After responses were inserted: they count in parts 9 to 16 of `stored_bytes`.
CREATE OR REPLACE FUNCTION penstock_responses_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT a.org_id, 9 + (hashtext(a.id) & 7), sum(octet_length(a.response) + octet_length(a.input) + a.event_bytes), count(*)
    FROM added a
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  RETURN NULL;
END $$;
CREATE TRIGGER responses_kept AFTER INSERT ON responses REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_responses_kept();

-- After responses were deleted.
CREATE OR REPLACE FUNCTION penstock_responses_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stored_bytes AS s (org_id, part, bytes, items)
    SELECT g.org_id, 9 + (hashtext(g.id) & 7), -sum(octet_length(g.response) + octet_length(g.input) + g.event_bytes), -count(*) FROM gone g
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (org_id, part) DO UPDATE SET bytes = s.bytes + EXCLUDED.bytes, items = s.items + EXCLUDED.items;
  DELETE FROM response_events e USING gone g WHERE e.response_id = g.id;
  RETURN NULL;
END $$;
CREATE TRIGGER responses_gone AFTER DELETE ON responses REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION penstock_responses_gone();
