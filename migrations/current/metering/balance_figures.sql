-- Limits by bucket, hundredths; -1 is unlimited; chat_tokens is credits × 1000. One expression, which PostgreSQL takes
-- in place.
CREATE OR REPLACE FUNCTION penstock_limits(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[CASE WHEN b.allowance[1] = -1 THEN -1 ELSE b.allowance[1] + b.topup_start[1] + b.topup_added[1] END, (CASE WHEN b.allowance[1] = -1 THEN -1 ELSE b.allowance[1] + b.topup_start[1] + b.topup_added[1] END) * CASE WHEN b.allowance[1] = -1 THEN 1 ELSE 1000 END, CASE WHEN b.allowance[3] = -1 THEN -1 ELSE b.allowance[3] + b.topup_start[3] + b.topup_added[3] END, CASE WHEN b.allowance[4] = -1 THEN -1 ELSE b.allowance[4] + b.topup_start[4] + b.topup_added[4] END, CASE WHEN b.allowance[5] = -1 THEN -1 ELSE b.allowance[5] + b.topup_start[5] + b.topup_added[5] END, CASE WHEN b.allowance[6] = -1 THEN -1 ELSE b.allowance[6] + b.topup_start[6] + b.topup_added[6] END, CASE WHEN b.allowance[7] = -1 THEN -1 ELSE b.allowance[7] + b.topup_start[7] + b.topup_added[7] END, CASE WHEN b.allowance[8] = -1 THEN -1 ELSE b.allowance[8] + b.topup_start[8] + b.topup_added[8] END, CASE WHEN b.allowance[9] = -1 THEN -1 ELSE b.allowance[9] + b.topup_start[9] + b.topup_added[9] END]
$$;

-- What is left of each bucket, hundredths; unlimited ones have more than any price. Negative where an operator set more
-- than the limit.
CREATE OR REPLACE FUNCTION penstock_available(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(CASE WHEN l = -1 THEN 4000000000000000 ELSE l - u - r END ORDER BY nth)
  FROM unnest(penstock_limits(b), b.used, b.reserved) WITH ORDINALITY v (l, u, r, nth)
$$;

-- Top-up units of a period that none of its allowances made unnecessary: what the next period begins with.
CREATE OR REPLACE FUNCTION penstock_carry(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(CASE WHEN a = -1 THEN s + t ELSE greatest(0, s + t - greatest(0, u + r - greatest(a, c))) END ORDER BY nth)
  FROM unnest(b.allowance, b.covered, b.topup_start, b.topup_added, b.used, b.reserved) WITH ORDINALITY v (a, c, s, t, u, r, nth)
$$;

-- The row before another allowance is adopted: what the old one covered by then is never taken from top-ups.
CREATE OR REPLACE FUNCTION penstock_cover(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(greatest(c, CASE WHEN a = -1 THEN u + r ELSE least(u + r, a) END) ORDER BY nth)
  FROM unnest(b.allowance, b.covered, b.used, b.reserved) WITH ORDINALITY v (a, c, u, r, nth)
$$;

-- No allowance covered more than there is: units that were reserved under a larger plan and given back are covered no
-- more.
CREATE OR REPLACE FUNCTION penstock_still_covered(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(least(c, u + r) ORDER BY nth) FROM unnest(b.covered, b.used, b.reserved) WITH ORDINALITY v (c, u, r, nth)
$$;
