-- How far the ledger of an organisation is folded (penstock_usage_fold): `sequence` is the last number whose row is in
-- `usage_cells`, moved in the same transaction; `folded_at` the latest settlement among them. `usage_rollups` is whole
-- for each half hour before `halves_until` and each day (UTC) before `days_until`. Who folds, groups or rebuilds locks
-- this row first.
CREATE TABLE usage_folds (
  org_id text COLLATE "C" PRIMARY KEY,
  sequence bigint NOT NULL DEFAULT 0,
  folded_at timestamptz NOT NULL DEFAULT 'epoch',
  halves_until timestamptz NOT NULL DEFAULT 'epoch',
  days_until timestamptz NOT NULL DEFAULT 'epoch'
);

ALTER TABLE usage_folds ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_folds FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_folds_tenant ON usage_folds TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON usage_folds TO penstock_tenant;
CREATE POLICY usage_folds_system ON usage_folds TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_folds TO penstock_system;
