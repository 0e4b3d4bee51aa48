-- When the period of a budget that a moment belongs to began: calendar periods, UTC, weeks begin on Monday. A total has
-- one period only.
CREATE OR REPLACE FUNCTION penstock_budget_start(p_period text, p_at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_period = 'total' THEN 'epoch'::timestamptz ELSE date_trunc(p_period, p_at, 'UTC') END
$$;

-- When that period ends; null for a total.
CREATE OR REPLACE FUNCTION penstock_budget_end(p_period text, p_at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_period <> 'total'
    THEN (date_trunc(p_period, p_at AT TIME ZONE 'UTC') + ('1 ' || p_period)::interval) AT TIME ZONE 'UTC' END
$$;

-- What a counter must have spent to reach a threshold: at least the smallest amount, also of a budget of nothing.
CREATE OR REPLACE FUNCTION penstock_budget_mark(p_cap bigint, p_threshold int) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(1, ceil(p_cap * p_threshold::numeric / 10000))::bigint
$$;

-- What must be spent for the next event: the lowest threshold that has not had its own yet; null where all had theirs.
CREATE OR REPLACE FUNCTION penstock_budget_fires_at(p_cap bigint, p_thresholds int[], p_fired int[]) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT min(penstock_budget_mark(p_cap, t)) FROM unnest(p_thresholds) t WHERE t <> ALL (p_fired)
$$;
