-- One row for each organisation and period. Exactly one row of an organisation is not superseded: the newest. A
-- period's limit is allowance + topup_start (units unspent when it began) + topup_added. `chat_tokens` has no limit of
-- its own: it is computed as credits × 1000 when it is shown. The low fill factor keeps the updates of a hot row
-- on its page.
--
-- Arrays hold one element for each bucket, in the order of penstock_bucket_names(), in hundredths of its unit; an
-- allowance of -1 is unlimited. Ids are compared by their bytes (collation "C"), in every locale: rows are locked in
-- this order, and the comparison is cheap.
CREATE TABLE balances (
  org_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL,
  anchor_at timestamptz NOT NULL,
  org_version bigint NOT NULL,
  superseded boolean NOT NULL DEFAULT false,
  allowance bigint[] NOT NULL,
  topup_start bigint[] NOT NULL DEFAULT penstock_zeros(),
  topup_added bigint[] NOT NULL DEFAULT penstock_zeros(),
  -- The part of `used` and `reserved` that larger allowances of the same period covered before the plan (or PLANS_FILE)
  -- changed.
  covered bigint[] NOT NULL DEFAULT penstock_zeros(),
  used bigint[] NOT NULL DEFAULT penstock_zeros(),
  reserved bigint[] NOT NULL DEFAULT penstock_zeros(),
  low_fired boolean[] NOT NULL DEFAULT penstock_no_flags(),
  depleted_fired boolean[] NOT NULL DEFAULT penstock_no_flags(),
  -- The last number of a ledger row of the organisation. Only the newest row counts; it begins with the number of the
  -- row before.
  sequence bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (org_id, period_start)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX balances_current ON balances (org_id) WHERE NOT superseded;

ALTER TABLE balances ENABLE ROW LEVEL SECURITY;
ALTER TABLE balances FORCE ROW LEVEL SECURITY;
CREATE POLICY balances_tenant ON balances TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON balances TO penstock_tenant;
CREATE POLICY balances_system ON balances TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON balances TO penstock_system;
