-- Takes the next numbers of an organisation's ledger, and returns the last number before them. The newest balance
-- stores the counter. A transaction that takes numbers keeps the balance locked until its commit, so a reader that sees
-- a number also sees all earlier numbers.
CREATE OR REPLACE FUNCTION penstock_numbers(p_org text, p_wanted int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
BEGIN
  LOOP
    UPDATE balances b SET sequence = b.sequence + p_wanted WHERE b.org_id = p_org AND NOT b.superseded RETURNING b.sequence INTO last;
    -- Not found if the next period began while this call waited.
    IF FOUND THEN
      RETURN last - p_wanted;
    END IF;
  END LOOP;
END $$;

-- Locks the balances after a period in order, up to the newest, and returns the last used number. It is for
-- transactions that take numbers while they hold an earlier period's balance.
CREATE OR REPLACE FUNCTION penstock_numbers_after(p_org text, p_period timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
BEGIN
  LOOP
    PERFORM 1 FROM balances b WHERE b.org_id = p_org AND b.period_start > p_period ORDER BY b.period_start FOR UPDATE;
    SELECT b.sequence INTO last FROM balances b WHERE b.org_id = p_org AND NOT b.superseded FOR UPDATE;
    IF FOUND THEN
      RETURN last;
    END IF;
  END LOOP;
END $$;

-- An id for a row that no process created.
CREATE OR REPLACE FUNCTION penstock_ledger_id() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT 'op_' || substr(penstock_event_id(), 5)
$$;

-- Writes a row with a period's balance if the balance does not follow from other rows: the period began, its allowance
-- changed, or an earlier period's unspent top-ups changed.
CREATE OR REPLACE FUNCTION penstock_ledger_opening(b balances) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_ledger (operation_id, org_id, kind, state, period_start, reserved, charged, settled_at, sequence, opening)
    VALUES (penstock_ledger_id(), b.org_id, 'period', 'settled', b.period_start, penstock_zeros(), penstock_zeros(), clock_timestamp(),
      penstock_numbers(b.org_id, 1) + 1, jsonb_build_object('periodStart', penstock_iso(b.period_start), 'periodEnd', penstock_iso(b.period_end),
        'allowance', b.allowance, 'topupStart', b.topup_start, 'topupAdded', b.topup_added, 'used', b.used));
END $$;

-- Changes the end of an operation that already has a number: its state becomes `p_state`, and an additional row with
-- its own number records the difference of the charge. That row counts as settled if it changes a charge that the
-- operation's own `charged` does not contain.
CREATE OR REPLACE FUNCTION penstock_ledger_correct(e settlement_ending, p_state text, p_charged bigint[], p_number bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  id text := penstock_ledger_id();
BEGIN
  INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, charged, model, request_id, job_id,
      run_id, service_client, client_name, user_agent, settled_at, end_user, tags, parent, answered_model, provider, upstream_id, status,
      error_code, first_token_ms, tokens, cost_nano, cost_version, sequence)
    SELECT id, l.org_id, l.key_id, l.user_id, 'adjustment', CASE WHEN l.charged IS NULL AND p_charged <> penstock_zeros() THEN 'settled' ELSE 'released' END, l.period_start,
      penstock_zeros(), p_charged, l.model, l.request_id, l.job_id, l.run_id, l.service_client, l.client_name, l.user_agent,
      clock_timestamp(), l.end_user, l.tags, l.parent, e.answered_model, e.provider, e.upstream_id, e.status, e.error_code,
      e.first_token_ms, e.tokens, e.cost_nano, e.cost_version, p_number
    FROM usage_ledger l WHERE l.operation_id = e.operation_id;
  UPDATE usage_ledger l SET state = p_state, swept = false, correction = id WHERE l.operation_id = e.operation_id;
END $$;

-- Adds an upstream's cost that became known after the end of an operation: to its record and its budgets, without
-- changing the charge. Once for each operation. Returns false if the operation is open or was already changed.
CREATE OR REPLACE FUNCTION penstock_ledger_late_cost(p_op text, p_outcome jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  l usage_ledger;
  e settlement_ending := penstock_ending(p_op, NULL, p_outcome);
BEGIN
  SELECT * INTO l FROM usage_ledger q WHERE q.operation_id = p_op FOR UPDATE;
  IF NOT FOUND OR l.state = 'reserved' OR l.correction IS NOT NULL THEN
    RETURN false;
  END IF;
  PERFORM penstock_ledger_correct(e, l.state, penstock_zeros(), penstock_numbers(l.org_id, 1) + 1);
  IF l.counters IS NOT NULL THEN
    PERFORM penstock_budget_settle(ARRAY[ROW(l.counters, NULL, NULL, penstock_zeros(), e.cost_nano)::budget_ending]);
  END IF;
  RETURN true;
END $$;

-- The charge of an operation, if it was charged.
CREATE OR REPLACE FUNCTION penstock_ledger_charge(l usage_ledger) RETURNS bigint[] LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN l.state = 'settled' THEN
    COALESCE(l.charged, (SELECT c.charged FROM usage_ledger c WHERE c.operation_id = l.correction), penstock_zeros()) END
$$;

-- Whole milliseconds since a time.
CREATE OR REPLACE FUNCTION penstock_ms_since(p_at timestamptz) RETURNS int LANGUAGE sql VOLATILE AS $$
  SELECT least(greatest(date_part('epoch', clock_timestamp() - p_at) * 1000, 0), 2147483647)::int
$$;
