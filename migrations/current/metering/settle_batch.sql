-- The statement of the processes: a batch of settlements and releases {ops, release, amounts, fallbacks, events}. It
-- commits without waiting for the disk, so that no balance is locked during the flush, and then commits a second, empty
-- transaction that does wait: when the call returns, the settlement before it is on the disk too. Releases alone need
-- no flush.
CREATE OR REPLACE PROCEDURE penstock_settle_batch(INOUT p_batch text) LANGUAGE plpgsql AS $$
DECLARE
  r record;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO r FROM json_to_record(p_batch::json) AS v (ops text[], release boolean[], amounts bigint[], fallbacks jsonb, events jsonb);
  p_batch := penstock_settle_many(r.ops, r.release, r.amounts, r.fallbacks);
  IF r.events IS NOT NULL THEN
    PERFORM penstock_settle_events(r.events, p_batch);
  END IF;
  IF NOT (true = ALL (r.release)) THEN
    COMMIT;
    PERFORM set_config('synchronous_commit', 'on', true);
    PERFORM pg_logical_emit_message(true, 'penstock', '');
  END IF;
END $$;

-- Webhook events {at, org, type, data, unheard, trace} of a batch: each is written where its settlement (item `at`,
-- from 1) was applied now. `unheard`: the process publishes to nobody but webhooks, so that the row is needed only
-- where the organisation has any (enabled or not: `recover` sends what a disabled one missed), or where another process
-- may carry it to Kafka. Every chat call has such an event; a row costs two writes, a wake-up and a claim.
CREATE OR REPLACE FUNCTION penstock_settle_events(p_events jsonb, p_answer text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM penstock_emit('events', e.org, penstock_event(e.type, e.org, e.data), e.trace)
    FROM jsonb_to_recordset(p_events) AS e (at int, org text, type text, data jsonb, unheard boolean, trace text)
    WHERE (e.unheard IS NOT TRUE OR EXISTS (SELECT 1 FROM webhooks w WHERE w.org_id = e.org)
        OR (SELECT i.kafka FROM installation i))
      AND p_answer::jsonb #> ARRAY['items', (e.at - 1)::text, '0'] = '1';
END $$;
