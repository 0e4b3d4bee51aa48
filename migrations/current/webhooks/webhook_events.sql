-- Events that an organisation's webhooks may receive (contract 6.1).
CREATE TABLE webhook_events (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  type text NOT NULL,
  event jsonb NOT NULL,
  -- Ids of the webhooks that listed the event's type when it happened, but got no delivery.
  missed_by text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX webhook_events_org ON webhook_events (org_id, created_at);
CREATE INDEX webhook_events_age ON webhook_events (created_at);

ALTER TABLE webhook_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_events FORCE ROW LEVEL SECURITY;
CREATE POLICY webhook_events_tenant ON webhook_events TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON webhook_events TO penstock_tenant;
CREATE POLICY webhook_events_system ON webhook_events TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_events TO penstock_system;
