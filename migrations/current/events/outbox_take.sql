-- Deletes what a relay has published and returns the next rows. Only one relay publishes at a time: it holds a lease,
-- which each call renews. So the order within a key is kept without a claim for each row (ADR 8). Rows are selected by
-- their presence, not by `id > last`, because a row can commit later than a row with a higher id. `p_published`: rows
-- to delete. If a power failure undoes the deletion, they are only published twice, so the commit does not wait for the
-- disk. `p_held`: rows that the relay is publishing now. The lease ends if `p_limit` is 0 or the table is empty.
CREATE OR REPLACE FUNCTION penstock_outbox_take(p_relay text, p_limit int, p_lease_ms int, p_published bigint[], p_held bigint[])
RETURNS SETOF outbox LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  IF cardinality(p_published) > 0 THEN
    DELETE FROM outbox WHERE id = ANY (p_published);
  END IF;
  IF p_limit <= 0 OR cardinality(p_held) = 0 AND NOT EXISTS (SELECT 1 FROM outbox) THEN
    UPDATE outbox_publisher SET holder = NULL, until = '-infinity' WHERE holder = p_relay;
    RETURN;
  END IF;
  UPDATE outbox_publisher SET holder = p_relay, until = clock_timestamp() + p_lease_ms * interval '1 ms'
    WHERE holder IS NULL OR holder = p_relay OR until < clock_timestamp();
  IF NOT FOUND THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT o.* FROM outbox o WHERE o.id <> ALL (p_held) ORDER BY o.id LIMIT p_limit;
END $$;
