-- The amount of an operation that a counter counts (budget_counters.amount).
CREATE OR REPLACE FUNCTION penstock_budget_part(p_amount int, p_buckets bigint[], p_nano bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT COALESCE(CASE p_amount WHEN 0 THEN p_nano ELSE p_buckets[p_amount] END, 0)
$$;

-- The nano-dollars that a token price reserves if the buckets granted fewer tokens than requested: the cost of the
-- prompt, and the granted part of the answer's cost.
CREATE OR REPLACE FUNCTION penstock_budget_nano(q admission_request, p_covered bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_covered >= q.prompt + q.max OR q.max <= 0 THEN q.nano
    ELSE q.nano_prompt + ceil((q.nano - q.nano_prompt)::numeric * greatest(0, p_covered - q.prompt) / q.max)::bigint END
$$;

-- Creates a counter with its reserved amount, and returns its id; null if its budget was deleted. The caller holds the
-- organisation's balance, so no other transaction creates the same counter.
CREATE OR REPLACE FUNCTION penstock_budget_open(c admission_counter, p_at timestamptz, p_reserved bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  made bigint;
BEGIN
  INSERT INTO budget_counters AS t (budget_id, subject, period_start, org_id, amount, reserved, fires_at)
    SELECT b.id, c.subject, penstock_budget_start(b.period, p_at), b.org_id, c.amount, p_reserved,
      penstock_budget_fires_at(b.cap, b.thresholds, '{}')
    FROM budgets b WHERE b.id = c.budget
    ON CONFLICT (budget_id, period_start, subject) DO UPDATE SET reserved = t.reserved + excluded.reserved
    RETURNING t.id INTO made;
  RETURN made;
END $$;

-- Reserves a whole batch's amount in each counter, in one guarded update of all counters, in the order of their ids.
-- Returns the ids in the order of `p_counters`. If one counter has no room, the batch is refused (SQLSTATE PM001).
CREATE OR REPLACE FUNCTION penstock_budget_reserve(p_counters admission_counter[]) RETURNS bigint[] LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  moment CONSTANT timestamptz := clock_timestamp();
  ids bigint[];
  places int[];
  written bigint[];
  c admission_counter;
BEGIN
  WITH v AS MATERIALIZED (
      SELECT t.id, v.cap, v.wanted, v.nth FROM unnest(p_counters) WITH ORDINALITY v (org, budget, subject, period, amount, cap, wanted, nth)
        JOIN budget_counters t ON t.budget_id = v.budget AND t.subject = v.subject AND t.period_start = penstock_budget_start(v.period, moment)
        ORDER BY t.id),
    u AS (
      UPDATE budget_counters t SET reserved = t.reserved + v.wanted FROM v
        WHERE t.id = v.id AND (v.cap IS NULL OR v.wanted = 0 OR t.spent + t.reserved + v.wanted <= v.cap)
        RETURNING t.id, v.nth)
    SELECT array_agg(u.id ORDER BY u.nth), array_agg(u.nth) INTO ids, places FROM u;
  IF cardinality(ids) = cardinality(p_counters) THEN
    RETURN ids;
  END IF;
  -- A counter that was not written has no room, or does not exist yet; in the second case it is created now.
  written := COALESCE(ids, '{}');
  ids := '{}';
  FOR i IN 1 .. cardinality(p_counters) LOOP
    IF i = ANY (places) THEN
      ids := ids || written[1];
      written := written[2:];
      CONTINUE;
    END IF;
    c := p_counters[i];
    IF c.cap < c.wanted OR EXISTS (SELECT 1 FROM budget_counters t
        WHERE t.budget_id = c.budget AND t.subject = c.subject AND t.period_start = penstock_budget_start(c.period, moment)) THEN
      RAISE EXCEPTION SQLSTATE 'PM001';
    END IF;
    ids := ids || penstock_budget_open(c, moment, c.wanted);
  END LOOP;
  IF array_position(ids, NULL) IS NOT NULL THEN
    RAISE EXCEPTION SQLSTATE 'PM001';
  END IF;
  RETURN ids;
END $$;

-- The existing counters, locked in the order of their ids. `room` is the amount that is left for further calls, null if
-- the budget refuses nothing.
CREATE OR REPLACE FUNCTION penstock_budget_rooms(p_counters admission_counter[], p_at timestamptz)
RETURNS TABLE (nth int, id bigint, room bigint) LANGUAGE sql AS $$
  SELECT v.nth::int, t.id, v.cap - t.spent - t.reserved
    FROM unnest(p_counters) WITH ORDINALITY v (org, budget, subject, period, amount, cap, wanted, nth)
    JOIN budget_counters t ON t.budget_id = v.budget AND t.subject = v.subject AND t.period_start = penstock_budget_start(v.period, p_at)
    ORDER BY t.id FOR UPDATE OF t
$$;

-- The counters of an operation whose reservation was lost with the database, from the memory of its process: a list of
-- {budget, subject, amount}. They hold no reservation for it; counters of deleted budgets are omitted. The caller holds
-- the organisation's balance.
CREATE OR REPLACE FUNCTION penstock_budget_restore(p_counters jsonb) RETURNS bigint[] LANGUAGE sql AS $$
  SELECT array_agg(o.id) FROM jsonb_to_recordset(CASE jsonb_typeof(p_counters) WHEN 'array' THEN p_counters ELSE '[]' END)
      c (budget text, subject text, amount int),
    LATERAL penstock_budget_open(ROW(0, c.budget, c.subject, NULL, c.amount, NULL, 0)::admission_counter, clock_timestamp(), 0) o (id)
    WHERE o.id IS NOT NULL
$$;
