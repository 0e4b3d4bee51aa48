-- The beginning of a budget's period that contains a time: calendar periods in UTC, weeks begin on Monday. A total has
-- only one period.
CREATE OR REPLACE FUNCTION penstock_budget_start(p_period text, p_at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_period = 'total' THEN 'epoch'::timestamptz ELSE date_trunc(p_period, p_at, 'UTC') END
$$;

-- The end of that period; null for a total.
CREATE OR REPLACE FUNCTION penstock_budget_end(p_period text, p_at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_period <> 'total'
    THEN (date_trunc(p_period, p_at AT TIME ZONE 'UTC') + ('1 ' || p_period)::interval) AT TIME ZONE 'UTC' END
$$;

-- The spent amount at which a counter reaches a threshold: at least the smallest amount, also for a budget with the
-- limit 0.
CREATE OR REPLACE FUNCTION penstock_budget_mark(p_cap bigint, p_threshold int) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(1, ceil(p_cap * p_threshold::numeric / 10000))::bigint
$$;

-- The spent amount for the next event: the lowest threshold whose event was not sent yet; null if all events were sent.
CREATE OR REPLACE FUNCTION penstock_budget_fires_at(p_cap bigint, p_thresholds int[], p_fired int[]) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT min(penstock_budget_mark(p_cap, t)) FROM unnest(p_thresholds) t WHERE t <> ALL (p_fired)
$$;
