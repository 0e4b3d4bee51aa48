-- The last row of each organisation's ledger that was published to the Kafka topic `usage` (beyond 13.7). Only
-- installations with Kafka have rows.
CREATE TABLE usage_published (
  org_id text COLLATE "C" PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
  sequence bigint NOT NULL DEFAULT 0,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

ALTER TABLE usage_published ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_published FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_published_system ON usage_published TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_published TO penstock_system;
