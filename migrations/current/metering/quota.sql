-- The organisation's plan and buckets now. `p_allowances` gives each plan code's allowance (hundredths by bucket);
-- after the end of a cancelled subscription the limits of the Free plan apply (decisions 2). Null if the organisation
-- does not exist.
CREATE OR REPLACE FUNCTION penstock_quota(p_org_id text, p_allowances jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  o record;
  b balances;
BEGIN
  SELECT g.plan_code, g.version,
      g.subscription_status = 'cancelled' AND COALESCE(g.subscription_ends_at <= clock_timestamp(), false) AS ended
    INTO o FROM organizations g WHERE g.id = p_org_id;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  b := penstock_balance_open(p_org_id, o.version, ARRAY(
    SELECT v.value::bigint FROM jsonb_array_elements_text(p_allowances -> CASE WHEN o.ended THEN 'free' ELSE o.plan_code END)
      WITH ORDINALITY v (value, nth) ORDER BY nth));
  RETURN json_build_object('code', o.plan_code, 'entitled', NOT o.ended, 'periodEnd', penstock_iso(b.period_end),
    'balance', penstock_balance_show(b)::json);
END $$;

-- Operator: adds units that last until used, with a ledger row, so that the ledger explains a bucket's limit as well as
-- its `used`. Null: the organisation does not exist; balance null: the bucket is unlimited.
CREATE OR REPLACE FUNCTION penstock_top_up(p_org_id text, p_allowances jsonb, p_bucket int, p_amount bigint, p_operation_id text)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  b balances;
  granted bigint[] := penstock_zeros();
BEGIN
  IF penstock_quota(p_org_id, p_allowances) IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT * INTO STRICT b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded;
  IF b.allowance[p_bucket] = -1 THEN
    RETURN json_build_object('balance', NULL);
  END IF;
  granted[p_bucket] := p_amount;
  INSERT INTO usage_ledger (operation_id, org_id, kind, state, period_start, reserved, charged, granted, settled_at, sequence)
    VALUES (p_operation_id, p_org_id, 'top_up', 'settled', b.period_start, penstock_zeros(), penstock_zeros(), granted,
      clock_timestamp(), penstock_numbers(p_org_id, 1) + 1);
  b.topup_added[p_bucket] := b.topup_added[p_bucket] + p_amount;
  RETURN json_build_object('balance', penstock_balance_show(penstock_balance_write(b))::json);
END $$;

-- Operator: sets `used` by an adjustment row, so that `used` stays the sum of the settled rows.
CREATE OR REPLACE FUNCTION penstock_set_used(p_org_id text, p_allowances jsonb, p_bucket int, p_used bigint, p_operation_id text)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  b balances;
  change bigint[] := penstock_zeros();
BEGIN
  IF penstock_quota(p_org_id, p_allowances) IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT * INTO STRICT b FROM balances c WHERE c.org_id = p_org_id AND NOT c.superseded;
  change[p_bucket] := p_used - b.used[p_bucket];
  INSERT INTO usage_ledger (operation_id, org_id, kind, state, period_start, reserved, charged, settled_at, sequence)
    VALUES (p_operation_id, p_org_id, 'adjustment', 'settled', b.period_start, penstock_zeros(), change, clock_timestamp(),
      penstock_numbers(p_org_id, 1) + 1);
  b.used[p_bucket] := p_used;
  RETURN json_build_object('balance', penstock_balance_show(penstock_balance_write(b))::json);
END $$;
