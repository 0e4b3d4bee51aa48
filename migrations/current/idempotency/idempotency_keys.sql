-- One row for each organisation and key, deleted after 24 hours (decisions 6, "Beyond the contract").
CREATE TABLE idempotency_keys (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  state text NOT NULL DEFAULT 'in_flight' CHECK (state IN ('in_flight', 'done')),
  process_id text,
  job_ids text[] NOT NULL DEFAULT '{}',
  scopes text[] NOT NULL DEFAULT '{}',
  status integer,
  headers jsonb,
  body bytea,
  -- The encrypted answer, written before its charge, until the whole answer is in `body`.
  made bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (org_id, key)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);

ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY idempotency_keys_tenant ON idempotency_keys TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys TO penstock_tenant;
CREATE POLICY idempotency_keys_system ON idempotency_keys TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys TO penstock_system;
