-- Events of responses, in the batches in which they were stored, as JSON texts. `first` is the
-- number of the first event; numbers start at 1 and have no gaps. A trigger deletes them together with their response
-- (responses.sql).
CREATE TABLE response_events (
  response_id text COLLATE "C" NOT NULL,
  org_id text NOT NULL,
  first int NOT NULL,
  last int NOT NULL,
  events text[] NOT NULL,
  PRIMARY KEY (response_id, last)
);

ALTER TABLE response_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE response_events FORCE ROW LEVEL SECURITY;
CREATE POLICY response_events_tenant ON response_events TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, DELETE ON response_events TO penstock_tenant;
CREATE POLICY response_events_system ON response_events TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON response_events TO penstock_system;
