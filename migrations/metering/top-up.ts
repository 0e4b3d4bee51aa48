/** Units that an operator added, in hundredths by bucket: not a charge, so that `used` stays the sum of `charged`. Null for all else. */
const GRANTED = 'ALTER TABLE usage_ledger ADD COLUMN granted bigint[]';

/**
 * Operator: adds units that last until used, with a ledger row that tells of them: so that the ledger explains a bucket's limit as it
 * does its `used`. Null: no such organisation; balance null: the bucket is unlimited.
 */
const TOP_UP = `
CREATE FUNCTION penstock_top_up(p_org_id text, p_allowances jsonb, p_bucket int, p_amount bigint, p_operation_id text)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  answer json := penstock_top_up(p_org_id, p_allowances, p_bucket, p_amount);
  granted bigint[] := '{0,0,0,0,0,0,0,0,0}';
BEGIN
  IF answer ->> 'balance' IS NOT NULL THEN
    granted[p_bucket] := p_amount;
    INSERT INTO usage_ledger (operation_id, org_id, kind, state, period_start, reserved, charged, granted, settled_at)
      SELECT p_operation_id, p_org_id, 'top_up', 'settled', b.period_start, '{0,0,0,0,0,0,0,0,0}', '{0,0,0,0,0,0,0,0,0}', granted,
        clock_timestamp()
      FROM balances b WHERE b.org_id = p_org_id AND NOT b.superseded;
  END IF;
  RETURN answer;
END $$;`;

export const TOP_UP_ROWS = [GRANTED, TOP_UP];
