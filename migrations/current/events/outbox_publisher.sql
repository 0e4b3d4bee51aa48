-- The lease of the one relay that publishes: its holder and its expiry. The table has one row.
CREATE TABLE outbox_publisher (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  holder text,
  until timestamptz NOT NULL DEFAULT '-infinity'
);

ALTER TABLE outbox_publisher ENABLE ROW LEVEL SECURITY;
ALTER TABLE outbox_publisher FORCE ROW LEVEL SECURITY;
CREATE POLICY outbox_publisher_system ON outbox_publisher TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_publisher TO penstock_system;
INSERT INTO outbox_publisher DEFAULT VALUES;
