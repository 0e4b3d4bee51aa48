-- The transactional outbox. An event is inserted in the same transaction as the change that it describes, and deleted
-- when the bus has accepted it.
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL CHECK (topic IN ('jobs', 'agents', 'responses', 'events')),
  key text NOT NULL,
  event jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, fillfactor = 70);

ALTER TABLE outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE outbox FORCE ROW LEVEL SECURITY;
CREATE POLICY outbox_system ON outbox TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO penstock_system;
