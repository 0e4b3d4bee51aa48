-- Registrations (contract 2.15). `consecutive_failures` is counted in the order in which attempts ended, not in which
-- they were stored. `failure_times` has the end times of the newest 32 counted failures. Failures that ended before
-- `failures_after` (the last success, or when the webhook was enabled again) do not count.
CREATE TABLE webhooks (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name text NOT NULL,
  url text NOT NULL,
  events text[] NOT NULL,
  enabled boolean NOT NULL,
  -- `json`: the unchanged event. `slack`: a sentence in the form of Slack's incoming webhooks.
  format text NOT NULL DEFAULT 'json' CHECK (format IN ('json', 'slack')),
  custom_headers jsonb NOT NULL DEFAULT '{}',
  secret bytea NOT NULL,
  next_secret bytea,
  rotates_at timestamptz,
  consecutive_failures int NOT NULL DEFAULT 0,
  failure_times timestamptz[] NOT NULL DEFAULT '{}',
  failures_after timestamptz,
  disabled_reason text,
  last_delivery_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhooks_org ON webhooks (org_id, id);

ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhooks FORCE ROW LEVEL SECURITY;
CREATE POLICY webhooks_tenant ON webhooks TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO penstock_tenant;
CREATE POLICY webhooks_system ON webhooks TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO penstock_system;
