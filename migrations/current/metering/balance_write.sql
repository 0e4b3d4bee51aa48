-- Writes a row whose used, reserved, allowance or top-ups were changed, with its events, and reduces the covered
-- amount. If an earlier period's row changes, its unspent top-ups change too; the difference is added to each later
-- period, so that top-ups stay exact when a reservation ends late.
CREATE OR REPLACE FUNCTION penstock_balance_write(b balances) RETURNS balances LANGUAGE plpgsql AS $$
DECLARE
  newer balances;
  old_carry bigint[];
  new_carry bigint[];
  newer_carry bigint[];
BEGIN
  b := penstock_balance_events(b);
  IF b.covered <> penstock_zeros() THEN
    b.covered := penstock_still_covered(b);
  END IF;
  IF b.superseded THEN
    SELECT penstock_carry(c) INTO old_carry FROM balances c WHERE c.org_id = b.org_id AND c.period_start = b.period_start;
    new_carry := penstock_carry(b);
  END IF;
  UPDATE balances c SET used = b.used, reserved = b.reserved, covered = b.covered, topup_added = b.topup_added, low_fired = b.low_fired,
    depleted_fired = b.depleted_fired WHERE c.org_id = b.org_id AND c.period_start = b.period_start;
  IF old_carry IS DISTINCT FROM new_carry THEN
    FOR newer IN
      SELECT * FROM balances c WHERE c.org_id = b.org_id AND c.period_start > b.period_start ORDER BY c.period_start FOR UPDATE
    LOOP
      newer_carry := penstock_carry(newer);
      newer.topup_start := (SELECT array_agg(s + n - o ORDER BY nth)
        FROM unnest(newer.topup_start, new_carry, old_carry) WITH ORDINALITY v (s, n, o, nth));
      UPDATE balances c SET topup_start = newer.topup_start WHERE c.org_id = b.org_id AND c.period_start = newer.period_start;
      PERFORM penstock_ledger_opening(newer);
      old_carry := newer_carry;
      new_carry := penstock_carry(newer);
    END LOOP;
  END IF;
  RETURN b;
END $$;

-- A row's amounts in the form of RawBalance in src/metering/amounts.ts: vectors of hundredths by bucket.
CREATE OR REPLACE FUNCTION penstock_balance_json(b balances) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('allowance', b.allowance, 'topupStart', b.topup_start, 'topupAdded', b.topup_added, 'used', b.used,
    'reserved', b.reserved)
$$;

-- The amounts that a caller sees after a change: the amounts of the current period, even if the operation belongs to
-- another one. If the period has ended and the next one has no row yet, the next one is shown as its first call will
-- create it.
CREATE OR REPLACE FUNCTION penstock_balance_show(b balances) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF b.superseded THEN
    SELECT * INTO b FROM balances c WHERE c.org_id = b.org_id AND NOT c.superseded;
  END IF;
  IF b.period_end <= clock_timestamp() THEN
    b.topup_start := penstock_carry(b);
    b.topup_added := penstock_zeros();
    b.used := penstock_zeros();
    b.reserved := penstock_zeros();
  END IF;
  RETURN penstock_balance_json(b);
END $$;

-- Writes a balance after a group of settlements, and returns the amounts for the callers. Nearly always this is one
-- plain update. An event to send, an ended period, or an amount that a larger plan covered needs the slower
-- penstock_balance_write. `p_ends` of the settlements got the next numbers.
CREATE OR REPLACE FUNCTION penstock_balance_close(b balances, p_used bigint[], p_reserved bigint[], p_fires boolean, p_ends int)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  b.used := p_used;
  b.reserved := p_reserved;
  IF p_fires OR b.covered <> penstock_zeros() THEN
    PERFORM penstock_numbers(b.org_id, p_ends) WHERE p_ends > 0;
    RETURN penstock_balance_show(penstock_balance_write(b));
  END IF;
  UPDATE balances c SET used = p_used, reserved = p_reserved, sequence = c.sequence + p_ends
    WHERE c.org_id = b.org_id AND c.period_start = b.period_start;
  RETURN penstock_balance_show(b);
END $$;
