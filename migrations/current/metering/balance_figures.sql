-- The remaining amount of each bucket, in hundredths; an unlimited bucket has more than any price. Negative if an
-- operator set `used` above the limit. The token view has no own limit: it is 1000 times the credits' limit.
CREATE OR REPLACE FUNCTION penstock_available(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(CASE WHEN b.allowance[l.bucket] = -1 THEN 4000000000000000
    ELSE (b.allowance[l.bucket] + b.topup_start[l.bucket] + b.topup_added[l.bucket]) * l.times - u - r END ORDER BY nth)
  FROM unnest(b.used, b.reserved) WITH ORDINALITY v (u, r, nth),
    LATERAL (SELECT CASE nth WHEN 2 THEN 1 ELSE nth END AS bucket, CASE nth WHEN 2 THEN 1000 ELSE 1 END AS times) l
$$;

-- The unspent top-up units of a period, which are not covered by any of its allowances: the next period begins with
-- them.
CREATE OR REPLACE FUNCTION penstock_carry(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(CASE WHEN a = -1 THEN s + t ELSE greatest(0, s + t - greatest(0, u + r - greatest(a, c))) END ORDER BY nth)
  FROM unnest(b.allowance, b.covered, b.topup_start, b.topup_added, b.used, b.reserved) WITH ORDINALITY v (a, c, s, t, u, r, nth)
$$;

-- The row before another allowance is adopted. The amount that the old allowance covered until then is never taken from
-- top-ups.
CREATE OR REPLACE FUNCTION penstock_cover(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(greatest(c, CASE WHEN a = -1 THEN u + r ELSE least(u + r, a) END) ORDER BY nth)
  FROM unnest(b.allowance, b.covered, b.used, b.reserved) WITH ORDINALITY v (a, c, u, r, nth)
$$;

-- The covered amount is at most the used and reserved amount: units that were reserved under a larger plan and released
-- are no longer covered.
CREATE OR REPLACE FUNCTION penstock_still_covered(b balances) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(least(c, u + r) ORDER BY nth) FROM unnest(b.covered, b.used, b.reserved) WITH ORDINALITY v (c, u, r, nth)
$$;
