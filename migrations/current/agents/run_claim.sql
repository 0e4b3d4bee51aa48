-- Waiting → in a worker's hands. Each organisation's oldest first, then their second ones.
CREATE OR REPLACE FUNCTION penstock_runs_claim(p_worker text, p_slots int, p_lease_ms int, p_limit_ms bigint)
RETURNS SETOF agent_runs LANGUAGE plpgsql AS $$
DECLARE
  picked record;
  r agent_runs;
BEGIN
  FOR picked IN
    SELECT q.id, q.started_at IS NULL AS fresh
    FROM (SELECT w.id, row_number() OVER (PARTITION BY w.org_id ORDER BY w.id) AS nth
      FROM agent_runs w WHERE w.status = 'running' AND w.worker_id IS NULL) c
    JOIN agent_runs q ON q.id = c.id AND q.status = 'running' AND q.worker_id IS NULL
    ORDER BY c.nth, c.id LIMIT p_slots FOR UPDATE OF q SKIP LOCKED
  LOOP
    UPDATE agent_runs SET fence = fence + 1, worker_id = p_worker, lease_until = clock_timestamp() + p_lease_ms * interval '1 ms',
        started_at = COALESCE(started_at, clock_timestamp()),
        deadline = COALESCE(deadline, clock_timestamp() + p_limit_ms * interval '1 ms')
      WHERE id = picked.id RETURNING * INTO r;
    IF picked.fresh THEN
      PERFORM penstock_run_webhook(r, 'agent.run.started', '{}');
    END IF;
    RETURN NEXT r;
  END LOOP;
END $$;

-- Renews the leases of runs.
CREATE OR REPLACE FUNCTION penstock_runs_renew(p_worker text, p_ids text[], p_fences int[], p_lease_ms int)
RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
    WITH held AS (
      SELECT r.id FROM agent_runs r JOIN unnest(p_ids, p_fences) AS mine (id, fence) ON mine.id = r.id AND mine.fence = r.fence
      WHERE r.status = 'running' AND r.worker_id = p_worker ORDER BY r.id FOR UPDATE OF r
    )
    UPDATE agent_runs r SET lease_until = clock_timestamp() + p_lease_ms * interval '1 ms'
    FROM held WHERE r.id = held.id RETURNING r.id;
END $$;

-- What a stopping worker gives back: another goes on from the stored state.
CREATE OR REPLACE FUNCTION penstock_runs_give_back(p_worker text, p_ids text[], p_fences int[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
    WITH held AS (
      SELECT r.id FROM agent_runs r JOIN unnest(p_ids, p_fences) AS mine (id, fence) ON mine.id = r.id AND mine.fence = r.fence
      WHERE r.status = 'running' AND r.worker_id = p_worker ORDER BY r.id FOR UPDATE OF r
    )
    UPDATE agent_runs r SET worker_id = NULL, lease_until = NULL, fence = r.fence + 1
    FROM held WHERE r.id = held.id RETURNING r.id;
  PERFORM pg_notify('penstock_run_pending', '');
END $$;
