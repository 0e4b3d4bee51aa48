-- The trace context of events that belong to no job and no run. Written only while traces are exported.
CREATE TABLE event_traces (
  event_id text PRIMARY KEY,
  traceparent text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX event_traces_age ON event_traces (created_at);

ALTER TABLE event_traces ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_traces FORCE ROW LEVEL SECURITY;
CREATE POLICY event_traces_system ON event_traces TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON event_traces TO penstock_system;
