-- Reverses charges of operations whose callers got an error before the process knew of the charge. If a retry has got
-- the answer meanwhile, the charge stays. Rows are locked in the order of settlements.
CREATE OR REPLACE FUNCTION penstock_take_back(p_ops text[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  r record;
  b balances;
  left_used bigint[];
  change bigint[];
  counted budget_ending[] := '{}';
  taken int := 0;
BEGIN
  PERFORM 1 FROM usage_ledger l WHERE l.operation_id = ANY (p_ops) ORDER BY l.operation_id COLLATE "C" FOR UPDATE;
  FOR r IN
    SELECT l.operation_id, l.org_id, l.period_start, l.counters, penstock_ledger_charge(l) AS charged FROM usage_ledger l
      WHERE l.operation_id = ANY (p_ops) AND l.state = 'settled' AND l.given IS NOT TRUE
      ORDER BY l.org_id COLLATE "C", l.period_start, l.operation_id
  LOOP
    SELECT * INTO STRICT b FROM balances c WHERE c.org_id = r.org_id AND c.period_start = r.period_start FOR UPDATE;
    IF b.superseded THEN
      PERFORM penstock_numbers_after(b.org_id, b.period_start);
    END IF;
    left_used := (SELECT array_agg(greatest(u - c, 0) ORDER BY nth) FROM unnest(b.used, r.charged) WITH ORDINALITY v (u, c, nth));
    change := (SELECT array_agg(n - u ORDER BY nth) FROM unnest(left_used, b.used) WITH ORDINALITY v (n, u, nth));
    PERFORM penstock_ledger_correct(penstock_ending(r.operation_id, NULL), 'released', change, penstock_numbers(r.org_id, 1) + 1);
    b.used := left_used;
    PERFORM penstock_balance_write(b);
    IF r.counters IS NOT NULL THEN
      counted := counted || ROW(r.counters, NULL, NULL, change, NULL)::budget_ending;
    END IF;
    taken := taken + 1;
  END LOOP;
  IF cardinality(counted) > 0 THEN
    PERFORM penstock_budget_settle(counted);
  END IF;
  RETURN taken;
END $$;
