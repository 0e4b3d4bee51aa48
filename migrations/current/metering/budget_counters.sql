-- The counters of a budget in one period: one row for each subject ('' for the organisation), created by the first
-- reservation. `amount` is the counted quantity of an operation: 0 is its cost, other values are the number of a
-- bucket; amounts have the unit of `budgets.cap`. `fires_at`: the value of `spent` at which the next threshold's event
-- is sent; null if no threshold is left. `fired`: the thresholds whose event was sent.
--
-- A transaction that writes a counter for an operation holds a balance of its organisation, and locks counters in the
-- order of their ids. There is no foreign key to the budget, because the deletion of a budget would wait for the calls
-- that it counts.
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
