-- Returns the organisation's current row, locked. The first use of a period creates the row, with the unspent top-ups
-- of the period before. A different allowance (another plan, another PLANS_FILE) is adopted unless the row has a newer
-- version of the organisation; the amount that the old allowance covered is stored.
--
-- Never locks the organisation: a change of plan holds that lock and waits for the balance, so waiting in the other
-- order would deadlock.
CREATE OR REPLACE FUNCTION penstock_balance_open(p_org_id text, p_version bigint, p_allowance bigint[])
RETURNS balances LANGUAGE plpgsql AS $$
DECLARE
  b balances;
BEGIN
  LOOP
    SELECT * INTO b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded FOR UPDATE;
    IF FOUND AND (b.org_version > p_version OR b.period_end > clock_timestamp() AND b.allowance = p_allowance) THEN
      RETURN b;
    ELSIF FOUND AND b.period_end > clock_timestamp() THEN
      b.covered := penstock_cover(b);
      b.allowance := p_allowance;
      b.org_version := p_version;
      b := penstock_balance_events(b);
      UPDATE balances c SET allowance = b.allowance, covered = b.covered, org_version = b.org_version, low_fired = b.low_fired,
        depleted_fired = b.depleted_fired WHERE c.org_id = p_org_id AND c.period_start = b.period_start;
      PERFORM penstock_ledger_opening(b);
      RETURN b;
    END IF;
    PERFORM penstock_balance_next(b, p_org_id, p_version, p_allowance);
  END LOOP;
END $$;

-- Creates the next period's row after `b` (locked, or null if there is none yet). A lost race is no error: the caller
-- reads again.
CREATE OR REPLACE FUNCTION penstock_balance_next(b balances, p_org_id text, p_version bigint, p_allowance bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  o record;
  begun balances;
BEGIN
  SELECT g.anchor_at, p.period_start, p.period_end INTO STRICT o
    FROM organizations g, penstock_period(g.anchor_at, clock_timestamp()) p WHERE g.id = p_org_id;
  UPDATE balances c SET superseded = true WHERE c.org_id = p_org_id AND c.period_start = b.period_start;
  INSERT INTO balances (org_id, period_start, period_end, anchor_at, org_version, allowance, topup_start, sequence)
    VALUES (p_org_id, greatest(o.period_start, b.period_end), o.period_end, o.anchor_at, p_version, p_allowance,
      COALESCE(penstock_carry(b), penstock_zeros()), COALESCE(b.sequence, 0))
    ON CONFLICT DO NOTHING RETURNING * INTO begun;
  IF FOUND THEN
    PERFORM penstock_ledger_opening(begun);
  END IF;
END $$;

-- For the transaction that changes a plan, after it wrote the organisation. If the anchor stays, the current period
-- continues with the new allowance and its `used`. If the anchor moves (from Free, or after an ended subscription), the
-- current period ends when the new one begins; its reservations are still settled in it, and unspent top-ups move to
-- the new period.
CREATE OR REPLACE FUNCTION penstock_plan_changed(p_org_id text, p_allowance bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  o record;
  b balances;
BEGIN
  SELECT g.anchor_at, g.version, p.period_start, p.period_end INTO STRICT o
    FROM organizations g, penstock_period(g.anchor_at, clock_timestamp()) p WHERE g.id = p_org_id;
  SELECT * INTO b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded FOR UPDATE;
  IF FOUND AND b.anchor_at <> o.anchor_at AND b.period_end > o.period_start THEN
    b.period_end := greatest(o.period_start, b.period_start + interval '1 microsecond');
    UPDATE balances c SET period_end = b.period_end WHERE c.org_id = p_org_id AND c.period_start = b.period_start;
    PERFORM penstock_balance_next(b, p_org_id, o.version, p_allowance);
  ELSE
    PERFORM penstock_balance_open(p_org_id, o.version, p_allowance);
  END IF;
END $$;
