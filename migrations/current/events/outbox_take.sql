-- One relay publishes at a time, for as long as it renews its lease by taking: that keeps the order within every key,
-- and costs a row of the outbox neither a claim nor a look at the rows before it. Rows are taken by state, never by `id
-- > last`, because a row may commit later than one with a higher id. `p_held` are those that the relay has in hand,
-- `p_published` those that leave the table; losing that by a power cut only publishes them twice, so the commit does
-- not wait for the disk. `p_limit` 0 gives the lease up, as does an empty table.
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
