-- The progress of folding an organisation's ledger (penstock_usage_fold): `sequence` is the last number whose row is in
-- `usage_cells`, moved in the same transaction; `folded_at` the latest settlement among them. Level n of `usage_rollups` is
-- complete before `whole_until[n]`. Folding, grouping and rebuilding lock this row first.
CREATE TABLE usage_folds (
  org_id text COLLATE "C" PRIMARY KEY,
  sequence bigint NOT NULL DEFAULT 0,
  folded_at timestamptz NOT NULL DEFAULT 'epoch',
  whole_until timestamptz[] NOT NULL DEFAULT array_fill('epoch'::timestamptz, ARRAY[4])
);

ALTER TABLE usage_folds ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_folds FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_folds_tenant ON usage_folds TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON usage_folds TO penstock_tenant;
CREATE POLICY usage_folds_system ON usage_folds TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_folds TO penstock_system;
