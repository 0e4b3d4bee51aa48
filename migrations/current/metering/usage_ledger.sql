-- One row for each operation, so that reserve, settle and release each happen once. `used` of a period is the sum of
-- `charged` of its settled rows. `holder` is the process that must settle or release; null once a job or a run owns the
-- reservation. `swept`: released because its holder was lost. If the holder was only slow, its delivered work is still
-- charged.
--
-- Rows of the kinds `top_up`, `adjustment` and `period` are not operations: they record other changes of a balance.
--
-- A partition has the operations of a month (UTC), by the time at the beginning of their ids (ledger_months.sql), so
-- that an id is unique in all partitions. The default partition has the operations of months without a partition.
--
-- The rows of an organisation are numbered without gaps (`sequence`): an operation gets its number at its end, all
-- other rows when they are written. The amounts of a numbered row never change: `charged`, `granted` and `opening` of
-- the rows in order give every `used` and every limit. If an operation's end changes later (it was released and is
-- charged, or its charge is reversed), a row of kind `adjustment` records the change (penstock_ledger_correct), and the
-- operation's row only changes its state. So a released row may have `charged`, which counts in the order of numbers,
-- but not in the sum of settled rows.
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
  -- Units that an operator added: not a charge, so that `used` stays the sum of `charged`. Null in other rows.
  granted bigint[],
  -- Whether a retry with the same Idempotency-Key got the charged answer; then the charge is final.
  given boolean,
  -- The row that changed the operation's end; its charge replaces the operation's own charge.
  correction text,
  -- Whether the row was written again after the database had lost it (penstock_ledger_restore).
  restored boolean,
  model text,
  request_id text,
  job_id text,
  run_id text,
  holder text COLLATE "C",
  service_client text,
  client_name text,
  user_agent text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  settled_at timestamptz,
  -- The attribution of the operation, set at its admission.
  end_user text,
  tags text[] NOT NULL DEFAULT '{}',
  -- The run whose agent made the call.
  parent text,
  -- The model that answered, its provider, and the upstream's own id of its answer.
  answered_model text,
  provider text,
  upstream_id text,
  status text CHECK (status IN ('succeeded', 'failed', 'cancelled')),
  error_code text,
  -- From admission to the end, by the database's clock. Null for rows that are not operations, and for restored rows.
  latency_ms int,
  -- From admission to the first token or byte, by the process's clock.
  first_token_ms int,
  -- {input, cached input, cache write, output, reasoning}; null for operations that are not counted in tokens.
  tokens bigint[],
  -- The cost of all attempts at their upstreams, in nano-dollars; null: unknown. `cost_version`: the price version that
  -- was valid at admission.
  cost_nano bigint,
  cost_version text,
  -- The reservation of the operation in budgets: nano-dollars, and the counters' ids. Null: none.
  reserved_nano bigint,
  counters bigint[],
  -- The number of the row's end in its organisation (balances.sequence). Null while it is reserved.
  sequence bigint,
  -- The content of a row of kind `period`: {periodStart, periodEnd, allowance, topupStart, topupAdded, used}.
  opening jsonb
) PARTITION BY RANGE (operation_id);
CREATE TABLE usage_ledger_default PARTITION OF usage_ledger DEFAULT WITH (fillfactor = 80);
CREATE INDEX usage_ledger_by_org ON usage_ledger (org_id, created_at, operation_id);
CREATE INDEX usage_ledger_by_sequence ON usage_ledger (org_id, sequence) WHERE sequence IS NOT NULL;
-- Also contains operations without a holder: a month stays while any operation in it is open (penstock_ledger_drop).
CREATE INDEX usage_ledger_open ON usage_ledger (holder) WHERE state = 'reserved';

ALTER TABLE usage_ledger ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_ledger FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_ledger_tenant ON usage_ledger TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON usage_ledger TO penstock_tenant;
CREATE POLICY usage_ledger_system ON usage_ledger TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_ledger TO penstock_system;
-- Partitions are read and written only through the table.
ALTER TABLE usage_ledger_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_ledger_default FORCE ROW LEVEL SECURITY;
