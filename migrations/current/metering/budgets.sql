-- Budgets (beyond 13.3). `subject` is null for the organisation; `*` means each key, end user or tag separately. `cap`
-- is in nano-dollars if `unit` is `usd`, else in hundredths of the bucket's unit; `thresholds` are parts of it in
-- ten-thousandths. `token_id`: the cap of a client token (beyond 14.1), which counts only that token's calls, is shown
-- to nobody else, and is deleted with it. A change of any other row also increments the organisation's version, so that
-- admission sees the change immediately.
CREATE TABLE budgets (
  id text COLLATE "C" PRIMARY KEY,
  org_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  scope text NOT NULL CHECK (scope IN ('organization', 'key', 'endUser', 'tag')),
  subject text CHECK (length(subject) BETWEEN 1 AND 256),
  unit text NOT NULL CHECK (unit = 'usd' OR unit = ANY (penstock_bucket_names())),
  cap bigint NOT NULL CHECK (cap >= 0),
  period text NOT NULL CHECK (period IN ('total', 'day', 'week', 'month')),
  hard boolean NOT NULL DEFAULT true,
  thresholds int[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  token_id text COLLATE "C" REFERENCES client_tokens ON DELETE CASCADE,
  CHECK ((scope = 'organization') = (subject IS NULL))
);
CREATE INDEX budgets_org ON budgets (org_id, id);
CREATE INDEX budgets_token ON budgets (token_id) WHERE token_id IS NOT NULL;

ALTER TABLE budgets ENABLE ROW LEVEL SECURITY;
ALTER TABLE budgets FORCE ROW LEVEL SECURITY;
CREATE POLICY budgets_tenant ON budgets TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON budgets TO penstock_tenant;
CREATE POLICY budgets_system ON budgets TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON budgets TO penstock_system;
