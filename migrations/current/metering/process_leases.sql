-- Renews the lease of a process, or begins it.
CREATE OR REPLACE FUNCTION penstock_heartbeat(p_id text, p_role text, p_lease_ms int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO processes AS p (id, role, lease_until) VALUES (p_id, p_role, clock_timestamp() + p_lease_ms * interval '1 ms')
    ON CONFLICT (id) DO UPDATE SET lease_until = EXCLUDED.lease_until;
END $$;

-- Releases the reservations of lost processes, at most 500 in each call; only one process does this at a time. A
-- reservation of a job or a run has no holder and is never touched. A holder without a row gets one lease's time,
-- because its row may not have been written yet. Also deletes processes that were lost a day ago, and windows that were
-- not used for a day.
CREATE OR REPLACE FUNCTION penstock_sweep(p_lease_ms int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  lost text[];
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  IF NOT pg_try_advisory_xact_lock(7301, 1) THEN
    RETURN 0;
  END IF;
  SELECT COALESCE(array_agg(s.operation_id), '{}') INTO lost FROM (
    SELECT l.operation_id FROM usage_ledger l
    LEFT JOIN processes p ON p.id = l.holder
    WHERE l.state = 'reserved' AND l.holder IS NOT NULL
      AND COALESCE(p.lease_until, l.created_at + p_lease_ms * interval '1 ms') < clock_timestamp()
    ORDER BY l.operation_id COLLATE "C" LIMIT 500 FOR UPDATE OF l SKIP LOCKED) s;
  IF cardinality(lost) > 0 THEN
    PERFORM penstock_settle_many(ARRAY(
      SELECT penstock_ending(l.id, NULL, '{"status": "failed", "errorCode": "unavailable", "costNano": "0"}') FROM unnest(lost) l (id)), true);
  ELSE
    DELETE FROM processes p WHERE p.lease_until < clock_timestamp() - interval '1 day';
    DELETE FROM rate_windows w WHERE w.stamps[cardinality(w.stamps)]
      < (date_part('epoch', clock_timestamp() - interval '1 day') * 1000000)::bigint;
  END IF;
  RETURN cardinality(lost);
END $$;
