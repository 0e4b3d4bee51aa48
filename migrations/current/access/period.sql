-- The billing month that contains `p_at`. Months are counted from `p_anchor` in UTC: 31 January, 28 February, 31 March
-- (decisions 2).
CREATE OR REPLACE FUNCTION penstock_period(p_anchor timestamptz, p_at timestamptz, OUT period_start timestamptz, OUT period_end timestamptz)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (a + make_interval(months => n)) AT TIME ZONE 'UTC', (a + make_interval(months => n + 1)) AT TIME ZONE 'UTC'
  FROM (
    SELECT a, GREATEST(0, m - CASE WHEN a + make_interval(months => m) > t THEN 1 ELSE 0 END) AS n
    FROM (
      SELECT a, t, ((date_part('year', t) - date_part('year', a)) * 12 + date_part('month', t) - date_part('month', a))::int AS m
      FROM (SELECT p_anchor AT TIME ZONE 'UTC' AS a, p_at AT TIME ZONE 'UTC' AS t) utc
    ) months
  ) whole_months
$$;
