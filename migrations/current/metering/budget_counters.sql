-- What counts for a budget in one period: one row for each subject ('' for the organisation), made by the first
-- reservation. `amount` says which amount of an operation counts: 0 its cost, else the number of its bucket; amounts are
-- as in `budgets.cap`. `fires_at`: what `spent` must reach for the next threshold's event; null where none is left.
-- `fired`: the thresholds that have had theirs.
--
-- Whoever writes a counter for an operation holds a balance of its organisation, and locks counters in the order of their
-- ids. There is no reference to the budget: who deletes one would wait for the calls that it counts.
CREATE TABLE budget_counters (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  budget_id text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  period_start timestamptz NOT NULL,
  org_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  amount int NOT NULL,
  spent bigint NOT NULL DEFAULT 0,
  reserved bigint NOT NULL DEFAULT 0,
  fires_at bigint,
  fired int[] NOT NULL DEFAULT '{}',
  UNIQUE (budget_id, period_start, subject)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX budget_counters_period ON budget_counters (period_start);

ALTER TABLE budget_counters ENABLE ROW LEVEL SECURITY;
ALTER TABLE budget_counters FORCE ROW LEVEL SECURITY;
CREATE POLICY budget_counters_tenant ON budget_counters TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON budget_counters TO penstock_tenant;
CREATE POLICY budget_counters_system ON budget_counters TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON budget_counters TO penstock_system;
