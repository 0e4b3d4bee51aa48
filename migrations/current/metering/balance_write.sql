-- Writes a row whose used, reserved, allowance or top-ups were changed, with its events, and forgets what is no longer
-- covered. An earlier period's row also hands on the change of what it leaves over, period by period, so that top-ups
-- stay exact when a reservation ends late.
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

-- A row's figures as RawBalance of src/metering/amounts.ts reads them: vectors of hundredths by bucket.
CREATE OR REPLACE FUNCTION penstock_balance_json(b balances) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('allowance', b.allowance, 'topupStart', b.topup_start, 'topupAdded', b.topup_added, 'used', b.used,
    'reserved', b.reserved)
$$;

-- The amounts that a caller is shown after a change: the current period's, whichever period the operation belonged to.
-- Where the period has ended and nobody has begun the next one yet, that one is shown as its first caller will find it.
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

-- Writes a balance after a group of settlements and answers what callers are shown. Nearly always that is one plain
-- update. With an event to fire, a period that is over, or something that a larger plan covered, it takes the long way.
-- `p_ends` of them were given the next numbers.
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
