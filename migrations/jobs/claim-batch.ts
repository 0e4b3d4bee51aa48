/**
 * pending → processing for all that a worker can take, in one statement for each tool: the rows, their history, their messages and the
 * turns of their organisations. Who is chosen is as in `claim.ts`: each organisation's oldest job first, those whose last turn is longest
 * ago before the others; only then their second ones. More candidates are read than are taken, because other workers may hold some.
 */
export const JOB_CLAIM_BATCH = `
CREATE OR REPLACE FUNCTION penstock_jobs_claim(
  p_worker text, p_tools text[], p_slots int[], p_limits_ms bigint[], p_lease_ms int
) RETURNS SETOF jobs LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  ids text[];
  first boolean[];
  orgs text[];
  turn_orgs text[] := '{}';
  turn_tools text[] := '{}';
BEGIN
  FOR t IN 1 .. cardinality(p_tools) LOOP
    CONTINUE WHEN p_slots[t] <= 0;
    SELECT array_agg(p.id), array_agg(NOT p.started_emitted), array_agg(p.org_id) INTO ids, first, orgs FROM (
      WITH RECURSIVE waiting AS (
        (SELECT q.org_id FROM jobs q WHERE q.status = 'pending' AND q.tool = p_tools[t] ORDER BY q.org_id LIMIT 1)
        UNION ALL
        SELECT (SELECT q.org_id FROM jobs q
            WHERE q.status = 'pending' AND q.tool = p_tools[t] AND q.org_id > o.org_id ORDER BY q.org_id LIMIT 1)
          FROM waiting o WHERE o.org_id IS NOT NULL
      ), due AS (
        SELECT o.org_id, COALESCE(turn.served, 0) AS served
        FROM waiting o LEFT JOIN job_turns turn ON turn.tool = p_tools[t] AND turn.org_id = o.org_id
        WHERE o.org_id IS NOT NULL
        ORDER BY served, o.org_id LIMIT 2 * p_slots[t] + 8
      ), candidates AS (
        SELECT c.id, c.nth, o.served
        FROM due o
        CROSS JOIN LATERAL (
          SELECT q.id, row_number() OVER (ORDER BY q.id) AS nth FROM jobs q
          WHERE q.status = 'pending' AND q.tool = p_tools[t] AND q.org_id = o.org_id
          ORDER BY q.id LIMIT 2 * p_slots[t] + 8) c
        ORDER BY c.nth, o.served, c.id LIMIT 2 * p_slots[t] + 8
      )
      SELECT q.id, q.started_emitted, q.org_id FROM candidates c JOIN jobs q ON q.id = c.id AND q.status = 'pending'
      ORDER BY c.nth, c.served, c.id LIMIT p_slots[t] FOR UPDATE OF q SKIP LOCKED) p;
    CONTINUE WHEN ids IS NULL;
    RETURN QUERY
      WITH moved AS (
        UPDATE jobs j SET status = 'processing', progress = 0, sequence = j.sequence + 1, attempt = j.attempt + 1, fence = j.fence + 1,
            worker_id = p_worker, lease_until = clock_timestamp() + p_lease_ms * interval '1 ms', started_emitted = true,
            started_at = COALESCE(j.started_at, clock_timestamp()),
            deadline = COALESCE(j.deadline, clock_timestamp() + p_limits_ms[t] * interval '1 ms')
          FROM unnest(ids, first) WITH ORDINALITY p (id, first, nth) WHERE j.id = p.id RETURNING j AS job, p.first, p.nth
      ), history AS (
        INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
        SELECT (m.job).id, (m.job).org_id, (m.job).sequence, 'job.processing', 'processing', 0, (m.job).attempt, (m.job).fence,
          (m.job).started_at
        FROM moved m
      ), messages AS (
        INSERT INTO outbox (topic, key, event)
        SELECT 'jobs', (m.job).id,
          penstock_event('job.processing', (m.job).org_id, penstock_job_view(m.job)) || jsonb_build_object('sequence', (m.job).sequence)
        FROM moved m
        UNION ALL
        SELECT 'events', (m.job).org_id, penstock_event('generation.started', (m.job).org_id,
          jsonb_build_object('jobId', (m.job).id, 'tool', (m.job).tool, 'model', (m.job).model))
        FROM moved m WHERE m.first
      )
      SELECT (m.job).* FROM moved m, LATERAL pg_notify('penstock_job_event', (m.job).id || ':' || (m.job).sequence)
      ORDER BY m.nth;
    turn_orgs := turn_orgs || orgs;
    turn_tools := turn_tools || array_fill(p_tools[t], ARRAY[cardinality(orgs)]);
  END LOOP;
  IF cardinality(turn_orgs) = 0 THEN
    RETURN;
  END IF;
  PERFORM pg_notify('penstock_outbox', '');
  -- At the end and in one order, so that two workers never wait for each other's turns.
  INSERT INTO job_turns (tool, org_id, served)
    SELECT u.tool, u.org, base.value + max(u.nth)
    FROM (SELECT nextval('job_turn') * 1000000 AS value) base, unnest(turn_tools, turn_orgs) WITH ORDINALITY u (tool, org, nth)
    GROUP BY u.tool, u.org, base.value ORDER BY 1, 2
    ON CONFLICT (tool, org_id) DO UPDATE SET served = GREATEST(job_turns.served, EXCLUDED.served);
END $$`;
