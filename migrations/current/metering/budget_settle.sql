-- Counts ended operations for their budgets: releases the reserved amount and adds the spent amount, even beyond the
-- limit. Counters are written in the order of their ids; counters of a deleted budget no longer exist. Returns the
-- number of written counters.
CREATE OR REPLACE FUNCTION penstock_budget_settle(p_endings budget_ending[]) RETURNS int LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  written int;
  due bigint[];
BEGIN
  WITH n AS MATERIALIZED (
      SELECT c.id, sum(penstock_budget_part(c.amount, e.held, e.held_nano))::bigint AS held,
          sum(penstock_budget_part(c.amount, e.spent, e.spent_nano))::bigint AS spent
        FROM unnest(p_endings) e CROSS JOIN LATERAL unnest(e.counters) k (id) JOIN budget_counters c ON c.id = k.id
        GROUP BY c.id ORDER BY c.id),
    u AS (
      UPDATE budget_counters c SET spent = greatest(0, c.spent + n.spent), reserved = c.reserved - n.held FROM n
        WHERE c.id = n.id RETURNING c.id, c.spent >= c.fires_at AS fires)
    SELECT count(*), array_agg(u.id ORDER BY u.id) FILTER (WHERE u.fires) INTO written, due FROM u;
  IF due IS NOT NULL THEN
    PERFORM penstock_budget_tell(id) FROM unnest(due) id;
  END IF;
  RETURN written;
END $$;

-- Writes `budget.threshold` for each threshold that a counter has reached and whose event was not sent in this period
-- yet.
CREATE OR REPLACE FUNCTION penstock_budget_tell(p_counter bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  c budget_counters;
  b budgets;
  part int;
  data jsonb;
BEGIN
  SELECT * INTO STRICT c FROM budget_counters t WHERE t.id = p_counter;
  SELECT * INTO b FROM budgets t WHERE t.id = c.budget_id;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  FOR part IN SELECT t FROM unnest(b.thresholds) t WHERE t <> ALL (c.fired) AND c.spent >= penstock_budget_mark(b.cap, t) ORDER BY t LOOP
    c.fired := c.fired || part;
    data := jsonb_build_object('budgetId', b.id, 'name', b.name, 'scope', b.scope, 'subject', NULLIF(c.subject, ''),
      'percent', trim_scale(part / 100.0), 'spent', penstock_budget_shown(b.unit, c.spent), 'limit', penstock_budget_shown(b.unit, b.cap),
      'unit', b.unit);
    PERFORM penstock_emit('events', b.org_id, penstock_event('budget.threshold', b.org_id, data));
  END LOOP;
  UPDATE budget_counters t SET fired = c.fired, fires_at = penstock_budget_fires_at(b.cap, b.thresholds, c.fired) WHERE t.id = c.id;
END $$;

-- An amount in the form for callers: a decimal in USD as text, or a number of a bucket's units.
CREATE OR REPLACE FUNCTION penstock_budget_shown(p_unit text, p_amount bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE p_unit WHEN 'usd' THEN to_jsonb(trim_scale(p_amount / 1000000000.0)::text) ELSE to_jsonb(trim_scale(p_amount / 100.0)) END
$$;

-- Deletes some counters of past periods that hold no reservation. If a slow process ends a call of such a period later,
-- the call is not counted; nobody could see the counter any more.
CREATE OR REPLACE FUNCTION penstock_budget_forget(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  forgotten int;
BEGIN
  DELETE FROM budget_counters c USING (
      SELECT t.id FROM budget_counters t LEFT JOIN budgets b ON b.id = t.budget_id
        WHERE t.period_start < date_trunc('day', clock_timestamp(), 'UTC') AND t.reserved = 0
          AND (b.id IS NULL OR t.period_start < penstock_budget_start(b.period, clock_timestamp()))
        ORDER BY t.id LIMIT p_limit FOR UPDATE OF t SKIP LOCKED) old
    WHERE c.id = old.id;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END $$;

-- Whether a hard budget in USD counts an operation.
CREATE OR REPLACE FUNCTION penstock_bound_in_usd(p_op text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM usage_ledger l CROSS JOIN LATERAL unnest(l.counters) k (id)
    JOIN budget_counters c ON c.id = k.id JOIN budgets b ON b.id = c.budget_id
    WHERE l.operation_id = p_op AND c.amount = 0 AND b.hard)
$$;
