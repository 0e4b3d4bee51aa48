-- The delivery of one event to one webhook, with its attempts (contract 3.4).
CREATE TABLE webhook_deliveries (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  webhook_id text NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event_id text NOT NULL REFERENCES webhook_events (id) ON DELETE CASCADE,
  event_type text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'succeeded', 'failed')),
  attempts jsonb NOT NULL DEFAULT '[]',
  scheduled_attempts int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  claimed_until timestamptz,
  claim text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (webhook_id, event_id)
) WITH (fillfactor = 80);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (event_id);
CREATE INDEX webhook_deliveries_claimed ON webhook_deliveries (webhook_id) WHERE claim IS NOT NULL;

ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY webhook_deliveries_tenant ON webhook_deliveries TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON webhook_deliveries TO penstock_tenant;
CREATE POLICY webhook_deliveries_system ON webhook_deliveries TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_deliveries TO penstock_system;
