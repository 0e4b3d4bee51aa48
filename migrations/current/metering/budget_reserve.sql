-- Which part of an operation's amounts a counter counts (budget_counters.amount).
CREATE OR REPLACE FUNCTION penstock_budget_part(p_amount int, p_buckets bigint[], p_nano bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT COALESCE(CASE p_amount WHEN 0 THEN p_nano ELSE p_buckets[p_amount] END, 0)
$$;

-- What a token price reserves in nano-dollars where the buckets granted fewer tokens than it asked for: the prompt's part,
-- and of the answer's as much as was granted.
CREATE OR REPLACE FUNCTION penstock_budget_nano(q admission_request, p_covered bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_covered >= q.prompt + q.max OR q.max <= 0 THEN q.nano
    ELSE q.nano_prompt + ceil((q.nano - q.nano_prompt)::numeric * greatest(0, p_covered - q.prompt) / q.max)::bigint END
$$;

-- Makes a counter with what is reserved in it, and answers its id; null where its budget is gone. The caller holds the
-- organisation's balance, so that nobody else makes one.
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

-- Reserves what a whole batch wants in each counter, in one guarded update of all of them, in the order of their ids. Answers
-- the ids in the order of `p_counters`. Where one has no room the batch is refused (SQLSTATE PM001).
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
  -- What was not written has no room, or is not made yet: then it is made now.
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

-- The counters that there are, locked in the order of their ids: `room` is what is left for further calls, null where
-- the budget refuses nothing.
CREATE OR REPLACE FUNCTION penstock_budget_rooms(p_counters admission_counter[], p_at timestamptz)
RETURNS TABLE (nth int, id bigint, room bigint) LANGUAGE sql AS $$
  SELECT v.nth::int, t.id, v.cap - t.spent - t.reserved
    FROM unnest(p_counters) WITH ORDINALITY v (org, budget, subject, period, amount, cap, wanted, nth)
    JOIN budget_counters t ON t.budget_id = v.budget AND t.subject = v.subject AND t.period_start = penstock_budget_start(v.period, p_at)
    ORDER BY t.id FOR UPDATE OF t
$$;

-- The counters of an operation whose reservation was lost with the database, by what its process remembers of them: a list
-- of {budget, subject, amount}. Nothing is held in them; those of budgets that are gone are left out. The caller holds the
-- organisation's balance.
CREATE OR REPLACE FUNCTION penstock_budget_restore(p_counters jsonb) RETURNS bigint[] LANGUAGE sql AS $$
  SELECT array_agg(o.id) FROM jsonb_to_recordset(CASE jsonb_typeof(p_counters) WHEN 'array' THEN p_counters ELSE '[]' END)
      c (budget text, subject text, amount int),
    LATERAL penstock_budget_open(ROW(0, c.budget, c.subject, NULL, c.amount, NULL, 0)::admission_counter, clock_timestamp(), 0) o (id)
    WHERE o.id IS NOT NULL
$$;
