-- The statement of the processes: a batch of endings, with their events (settlement_event, as JSON). It commits without
-- waiting for the disk, so that no balance is locked during the flush, and then commits a second, empty transaction
-- that does wait: when the call returns, the settlement before it is on the disk too. Releases alone need no flush.
CREATE OR REPLACE PROCEDURE penstock_settle_batch(p_endings settlement_ending[], p_events json, INOUT p_answer text DEFAULT NULL)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  p_answer := penstock_settle_many(p_endings);
  PERFORM penstock_settle_events(p_events, p_answer);
  IF EXISTS (SELECT 1 FROM unnest(p_endings) e WHERE e.amounts IS NOT NULL) THEN
    COMMIT;
    PERFORM set_config('synchronous_commit', 'on', true);
    PERFORM pg_logical_emit_message(true, 'penstock', '');
  END IF;
END $$;

-- Writes the events of the settlements in a batch that were applied now. `p_answer`: the result of
-- penstock_settle_many.
CREATE OR REPLACE FUNCTION penstock_settle_events(p_events json, p_answer text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM penstock_emit('events', e.org, penstock_event(e.type, e.org, e.data), e.trace)
    FROM penstock_heard_events(p_events) e
    WHERE p_answer::jsonb #> ARRAY['items', (e.at - 1)::text, '0'] = '1';
END $$;
