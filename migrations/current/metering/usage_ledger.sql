-- One row for each operation, so that reserve, settle and release each happen once. `used` of a period is the sum of
-- `charged` of its settled rows. `holder` is the process that must settle or release; null once a job or a run owns the
-- reservation. `swept`: released because its holder was lost, so that a holder who was only slow is still charged for
-- what it delivered.
CREATE TABLE usage_ledger (
  operation_id text COLLATE "C" PRIMARY KEY,
  org_id text COLLATE "C" NOT NULL,
  key_id text,
  user_id text,
  kind text NOT NULL,
  state text NOT NULL CHECK (state IN ('reserved', 'settled', 'released')),
  swept boolean NOT NULL DEFAULT false,
  period_start timestamptz NOT NULL,
  reserved bigint[] NOT NULL,
  charged bigint[],
  -- Units that an operator added: not a charge, so that `used` stays the sum of `charged`. Null for all else.
  granted bigint[],
  -- Whether a retry with the same Idempotency-Key was given what the operation had been charged for: from then on the charge stays.
  given boolean,
  model text,
  request_id text,
  job_id text,
  run_id text,
  holder text COLLATE "C",
  service_client text,
  client_name text,
  user_agent text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  settled_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX usage_ledger_by_org ON usage_ledger (org_id, created_at);
CREATE INDEX usage_ledger_held ON usage_ledger (holder) WHERE state = 'reserved' AND holder IS NOT NULL;

ALTER TABLE usage_ledger ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_ledger FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_ledger_tenant ON usage_ledger TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON usage_ledger TO penstock_tenant;
CREATE POLICY usage_ledger_system ON usage_ledger TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_ledger TO penstock_system;
