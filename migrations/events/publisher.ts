/** Which relay publishes, and until when that holds: one row. */
export const PUBLISHER_TABLE = `
CREATE TABLE outbox_publisher (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  holder text,
  until timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO outbox_publisher DEFAULT VALUES;
ALTER TABLE outbox_publisher ENABLE ROW LEVEL SECURITY;
ALTER TABLE outbox_publisher FORCE ROW LEVEL SECURITY;
CREATE POLICY outbox_publisher_system ON outbox_publisher TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_publisher TO penstock_system;`;

/**
 * One relay publishes at a time, for as long as it renews its lease by taking: that keeps the order within every key, and costs a row of
 * the outbox neither a claim nor a look at the rows before it. Rows are taken by state, never by \`id > last\`, because a row may commit
 * later than one with a higher id. \`p_held\` are those that the relay has in hand, \`p_published\` those that leave the table; losing that by
 * a power cut only publishes them twice, so the commit does not wait for the disk. \`p_limit\` 0 gives the lease up, as does an empty table.
 */
export const TAKE = `
CREATE FUNCTION penstock_outbox_take(p_relay text, p_limit int, p_lease_ms int, p_published bigint[], p_held bigint[])
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
END $$`;

/** For processes of the version before. */
export const CLAIM_BY_LEASE = `
CREATE OR REPLACE FUNCTION penstock_outbox_claim(p_relay text, p_limit int, p_claim_ms int, p_published bigint[])
RETURNS SETOF outbox LANGUAGE sql AS $$
  SELECT * FROM penstock_outbox_take(p_relay, p_limit, p_claim_ms, p_published, '{}')
$$`;
