-- The leases of jobs, agent_runs and responses. Each of these tables has the columns id, worker_id, fence and
-- lease_until, and no worker holds a row whose work has ended. Every statement checks the worker's name and the fence,
-- so a worker that has lost a row changes nothing. Rows are locked in the order of their ids.

-- Renews leases. Returns the ids that the worker still holds. If a power failure undoes a renewal, another worker only
-- takes the row over, so the commit need not wait for the disk.
CREATE OR REPLACE FUNCTION penstock_leases_renew(p_table regclass, p_worker text, p_ids text[], p_fences int[], p_lease_ms int)
RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY EXECUTE format($query$
    WITH held AS (
      SELECT r.id FROM %1$s r JOIN unnest($2, $3) AS mine (id, fence) ON mine.id = r.id AND mine.fence = r.fence
      WHERE r.worker_id = $1 ORDER BY r.id FOR UPDATE OF r
    )
    UPDATE %1$s r SET lease_until = clock_timestamp() + $4 * interval '1 ms'
    FROM held WHERE r.id = held.id RETURNING r.id
  $query$, p_table) USING p_worker, p_ids, p_fences, p_lease_ms;
END $$;

-- Returns the rows of a worker that stops, and notifies the other workers on `p_channel`. One of them continues from
-- the stored state.
CREATE OR REPLACE FUNCTION penstock_leases_release(p_table regclass, p_channel text, p_worker text, p_ids text[], p_fences int[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format($query$
    WITH held AS (
      SELECT r.id FROM %1$s r JOIN unnest($2, $3) AS mine (id, fence) ON mine.id = r.id AND mine.fence = r.fence
      WHERE r.worker_id = $1 ORDER BY r.id FOR UPDATE OF r
    )
    UPDATE %1$s r SET worker_id = NULL, lease_until = NULL, fence = r.fence + 1
    FROM held WHERE r.id = held.id
  $query$, p_table) USING p_worker, p_ids, p_fences;
  PERFORM pg_notify(p_channel, '');
END $$;
