/** Of `used` and `reserved`, what larger allowances of the same period had covered before the plan (or PLANS_FILE) changed. */
const COVERED = `ALTER TABLE balances ADD COLUMN covered bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0,0}'`;

/** Top-up units of a period that none of its allowances made unnecessary: what the next period begins with. */
const CARRY = `
CREATE OR REPLACE FUNCTION penstock_carry(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(CASE WHEN a = -1 THEN s + t ELSE greatest(0, s + t - greatest(0, u + r - greatest(a, c))) END ORDER BY nth)
  FROM unnest(b.allowance, b.covered, b.topup_start, b.topup_added, b.used, b.reserved) WITH ORDINALITY v (a, c, s, t, u, r, nth)
$$;`;

/** The row before another allowance is adopted: what the old one covered by then is never taken from top-ups. */
const COVER = `
CREATE FUNCTION penstock_cover(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(greatest(c, CASE WHEN a = -1 THEN u + r ELSE least(u + r, a) END) ORDER BY nth)
  FROM unnest(b.allowance, b.covered, b.used, b.reserved) WITH ORDINALITY v (a, c, u, r, nth)
$$;`;

/** As before (`periods.ts`), and remembers what the old allowance covered. */
const OPEN = `
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
      RETURN b;
    END IF;
    PERFORM penstock_balance_next(b, p_org_id, p_version, p_allowance);
  END LOOP;
END $$;`;

export const COVERED_UNITS = [COVERED, CARRY, COVER, OPEN];
