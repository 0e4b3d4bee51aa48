-- One row for each operation, so that reserve, settle and release each happen once. `used` of a period is the sum of
-- `charged` of its settled rows. `holder` is the process that must settle or release; null once a job or a run owns the
-- reservation. `swept`: released because its holder was lost, so that a holder who was only slow is still charged for
-- what it delivered.
--
-- Rows of the kinds `top_up`, `adjustment` and `period` are no operations: they tell what else moved a balance.
--
-- A partition holds the operations of a month (UTC), by the time that their ids begin with (ledger_months.sql), so that an id
-- is unique over all of them; the last one holds what belongs to no month that was made.
--
-- The rows of an organisation are numbered without a hole (`sequence`): an operation's at its end, all others at once. What
-- a numbered row tells stays: `charged`, `granted` and `opening` of the rows in their order give every `used` and every
-- limit. Where an operation's end changes afterwards (released and charged after all, or taken back), a row of kind
-- `adjustment` tells the change (penstock_ledger_correct), and the operation's row only changes its state: so `charged` of
-- a released row may be there, and counts in the order of numbers, not in the sum of settled rows.
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
  -- The row that changed the operation's end; its charge counts in place of the operation's own.
  correction text,
  -- Whether the row was written anew after the database had lost it (penstock_ledger_restore).
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
  -- Whom the operation is counted for, said at its admission.
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
  -- From admission to the end, by the database's clock. Null for what is no operation, and for restored rows.
  latency_ms int,
  -- From admission to the first token or byte, by the process's clock.
  first_token_ms int,
  -- {input, cached input, cache write, output, reasoning}; null for operations that are not counted in tokens.
  tokens bigint[],
  -- What all attempts cost at their upstreams, in nano-dollars; null: unknown. `cost_version`: the price version that held at admission.
  cost_nano bigint,
  cost_version text,
  -- What budgets hold for the operation: nano-dollars, and the counters' ids. Null: none.
  reserved_nano bigint,
  counters bigint[],
  -- The number of the row's end in its organisation (balances.sequence). Null while it is reserved.
  sequence bigint,
  -- What a row of kind `period` tells: {periodStart, periodEnd, allowance, topupStart, topupAdded, used}.
  opening jsonb
) PARTITION BY RANGE (operation_id);
CREATE TABLE usage_ledger_default PARTITION OF usage_ledger DEFAULT WITH (fillfactor = 80);
CREATE INDEX usage_ledger_by_org ON usage_ledger (org_id, created_at, operation_id);
CREATE INDEX usage_ledger_by_sequence ON usage_ledger (org_id, sequence) WHERE sequence IS NOT NULL;
-- Also of those without a holder: a month stays while any operation in it is open (penstock_ledger_drop).
CREATE INDEX usage_ledger_open ON usage_ledger (holder) WHERE state = 'reserved';

ALTER TABLE usage_ledger ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_ledger FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_ledger_tenant ON usage_ledger TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON usage_ledger TO penstock_tenant;
CREATE POLICY usage_ledger_system ON usage_ledger TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_ledger TO penstock_system;
-- Partitions are read and written by way of the table alone.
ALTER TABLE usage_ledger_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_ledger_default FORCE ROW LEVEL SECURITY;
