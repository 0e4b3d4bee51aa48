-- Assigns waiting runs to a worker, in fair shares between organisations. `p_slots` are places for every organisation:
-- each run has a rank within its organisation, and runs in progress on any worker have the first ranks; runs with a
-- lower rank are taken first. `p_newcomers` are additional places, one for each organisation that has no run in
-- progress. Runs that only wait for time to pass (`p_resting`) do not count as in progress.
CREATE OR REPLACE FUNCTION penstock_runs_claim(
  p_worker text, p_slots int, p_newcomers int, p_lease_ms int, p_limit_ms bigint, p_resting text[]
) RETURNS SETOF agent_runs LANGUAGE plpgsql AS $$
DECLARE
  picked record;
  r agent_runs;
  places int;
BEGIN
  FOR pass IN 1 .. 2 LOOP
    places := CASE pass WHEN 1 THEN p_slots ELSE p_newcomers END;
    CONTINUE WHEN places <= 0;
    FOR picked IN
      WITH RECURSIVE waiting AS (
        (SELECT w.org_id FROM agent_runs w WHERE w.status = 'running' AND w.worker_id IS NULL ORDER BY w.org_id LIMIT 1)
        UNION ALL
        SELECT (SELECT w.org_id FROM agent_runs w
            WHERE w.status = 'running' AND w.worker_id IS NULL AND w.org_id > o.org_id ORDER BY w.org_id LIMIT 1)
          FROM waiting o WHERE o.org_id IS NOT NULL
      ), worked AS MATERIALIZED (
        SELECT w.org_id, count(*) AS runs FROM agent_runs w
        WHERE w.status = 'running' AND w.worker_id IS NOT NULL AND w.id <> ALL (p_resting) GROUP BY w.org_id
      ), candidates AS (
        SELECT c.id, COALESCE(w.runs, 0) + c.nth AS nth
        FROM waiting o LEFT JOIN worked w ON w.org_id = o.org_id
        CROSS JOIN LATERAL (
          SELECT q.id, row_number() OVER (ORDER BY q.id) AS nth FROM agent_runs q
          WHERE q.status = 'running' AND q.worker_id IS NULL AND q.org_id = o.org_id
          ORDER BY q.id LIMIT CASE pass WHEN 1 THEN 2 * places + 8 ELSE 1 END) c
        WHERE o.org_id IS NOT NULL AND (pass = 1 OR w.runs IS NULL)
      )
      SELECT q.id, q.started_at IS NULL AS fresh
      FROM candidates c JOIN agent_runs q ON q.id = c.id AND q.status = 'running' AND q.worker_id IS NULL
      ORDER BY c.nth, c.id LIMIT places FOR UPDATE OF q SKIP LOCKED
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
  END LOOP;
END $$;
