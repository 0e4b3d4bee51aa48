-- The events of a batch that have a possible receiver (see settlement_event). PostgreSQL inlines this function into the
-- query that calls it.
CREATE OR REPLACE FUNCTION penstock_heard_events(p_events json) RETURNS SETOF settlement_event LANGUAGE sql STABLE AS $$
  SELECT e.* FROM json_populate_recordset(NULL::settlement_event, p_events) e
  WHERE e.unheard IS NOT TRUE OR EXISTS (SELECT 1 FROM webhooks w WHERE w.org_id = e.org) OR (SELECT i.kafka FROM installation i)
$$;
