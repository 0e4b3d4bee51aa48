-- pending → processing, in two statements of one transaction. The first (penstock_jobs_take) selects and updates jobs;
-- the worker starts as soon as it has the rows. The second (penstock_jobs_taken) writes history, messages and
-- notifications. Until the commit the rows are locked, so no other worker can take them. The setting `penstock.taken`
-- passes the ids from the first statement to the second.
--
-- `p_slots` are places for every organisation: the organisations with the fewest jobs of the tool in progress, on all
-- workers together, get them. `p_newcomers` are additional places, one for each organisation without a job in progress.
-- Jobs that only wait for time to pass (`p_resting`) do not count as in progress.
--
-- If all waiting jobs fit into the places, nothing has to be chosen. This is the usual case.
CREATE OR REPLACE FUNCTION penstock_jobs_take(
  p_worker text, p_tools text[], p_slots int[], p_newcomers int[], p_limits_ms bigint[], p_lease_ms int, p_resting text[]
) RETURNS SETOF jobs LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  ids text[];
  taken text[] := '{}';
BEGIN
  FOR t IN 1 .. cardinality(p_tools) LOOP
    ids := ARRAY(SELECT q.id FROM jobs q WHERE q.status = 'pending' AND q.tool = p_tools[t] LIMIT p_slots[t] + 1);
    CONTINUE WHEN cardinality(ids) = 0;
    IF cardinality(ids) > p_slots[t] THEN
      ids := '{}';
      IF p_slots[t] > 0 THEN
        ids := penstock_jobs_choose(p_tools[t], p_slots[t], p_resting);
      END IF;
      IF p_newcomers[t] > 0 THEN
        ids := ids || penstock_jobs_newcomers(p_tools[t], p_newcomers[t], p_resting, ids);
      END IF;
      CONTINUE WHEN cardinality(ids) = 0;
    END IF;
    taken := taken || ids;
    RETURN QUERY
      UPDATE jobs j SET status = 'processing', progress = 0, sequence = j.sequence + 1, attempt = j.attempt + 1, fence = j.fence + 1,
          worker_id = p_worker, lease_until = clock_timestamp() + p_lease_ms * interval '1 ms',
          started_at = COALESCE(j.started_at, clock_timestamp()),
          deadline = COALESCE(j.deadline, clock_timestamp() + p_limits_ms[t] * interval '1 ms')
        FROM (
          SELECT q.id FROM unnest(ids) u (id) JOIN jobs q ON q.id = u.id AND q.worker_id IS NULL AND q.completed_at IS NULL
          FOR UPDATE OF q SKIP LOCKED
        ) p WHERE j.id = p.id RETURNING j.*;
  END LOOP;
  PERFORM set_config('penstock.taken', array_to_string(taken, ' '), true);
END $$;

-- Chooses waiting jobs fairly. Each job has a rank within its organisation, after the jobs in progress; lower ranks are
-- taken first, and among equal ranks the organisation that was served least recently. More candidates are read than are
-- needed, because other workers may have locked some. The returned jobs are locked.
CREATE OR REPLACE FUNCTION penstock_jobs_choose(p_tool text, p_slots int, p_resting text[]) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    WITH RECURSIVE waiting AS (
      (SELECT q.org_id FROM jobs q WHERE q.status = 'pending' AND q.tool = p_tool ORDER BY q.org_id LIMIT 1)
      UNION ALL
      SELECT (SELECT q.org_id FROM jobs q
          WHERE q.status = 'pending' AND q.tool = p_tool AND q.org_id > o.org_id ORDER BY q.org_id LIMIT 1)
        FROM waiting o WHERE o.org_id IS NOT NULL
    ), worked AS MATERIALIZED (
      SELECT q.org_id, count(*) AS jobs FROM jobs q
      WHERE q.status = 'processing' AND q.tool = p_tool AND q.id <> ALL (p_resting) GROUP BY q.org_id
    ), due AS (
      SELECT o.org_id, COALESCE(w.jobs, 0) AS jobs, COALESCE(turn.served, 0) AS served
      FROM waiting o LEFT JOIN worked w ON w.org_id = o.org_id LEFT JOIN job_turns turn ON turn.tool = p_tool AND turn.org_id = o.org_id
      WHERE o.org_id IS NOT NULL
      ORDER BY jobs, served, o.org_id LIMIT 2 * p_slots + 8
    ), candidates AS (
      SELECT c.id, o.jobs + c.nth AS nth, o.served
      FROM due o
      CROSS JOIN LATERAL (
        SELECT q.id, row_number() OVER (ORDER BY q.id) AS nth FROM jobs q
        WHERE q.status = 'pending' AND q.tool = p_tool AND q.org_id = o.org_id
        ORDER BY q.id LIMIT 2 * p_slots + 8) c
      ORDER BY nth, o.served, c.id LIMIT 2 * p_slots + 8
    )
    SELECT q.id FROM candidates c JOIN jobs q ON q.id = c.id AND q.worker_id IS NULL AND q.completed_at IS NULL
    ORDER BY c.nth, c.served, c.id LIMIT p_slots FOR UPDATE OF q SKIP LOCKED);
END $$;

-- Chooses the oldest job of each organisation that has no job in progress and none in `p_chosen`, the least recently
-- served organisations first.
CREATE OR REPLACE FUNCTION penstock_jobs_newcomers(p_tool text, p_places int, p_resting text[], p_chosen text[]) RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    WITH RECURSIVE waiting AS (
      (SELECT q.org_id FROM jobs q WHERE q.status = 'pending' AND q.tool = p_tool ORDER BY q.org_id LIMIT 1)
      UNION ALL
      SELECT (SELECT q.org_id FROM jobs q
          WHERE q.status = 'pending' AND q.tool = p_tool AND q.org_id > o.org_id ORDER BY q.org_id LIMIT 1)
        FROM waiting o WHERE o.org_id IS NOT NULL
    ), due AS (
      SELECT o.org_id, COALESCE(turn.served, 0) AS served
      FROM waiting o LEFT JOIN job_turns turn ON turn.tool = p_tool AND turn.org_id = o.org_id
      WHERE o.org_id IS NOT NULL AND o.org_id NOT IN (SELECT j.org_id FROM jobs j
        WHERE (j.status = 'processing' AND j.tool = p_tool AND j.id <> ALL (p_resting)) OR j.id = ANY (p_chosen))
      ORDER BY served, o.org_id LIMIT p_places + 8
    ), candidates AS (
      SELECT c.id, o.served FROM due o
      CROSS JOIN LATERAL (SELECT q.id FROM jobs q
        WHERE q.status = 'pending' AND q.tool = p_tool AND q.org_id = o.org_id ORDER BY q.id LIMIT 1) c
    )
    SELECT q.id FROM candidates c JOIN jobs q ON q.id = c.id AND q.worker_id IS NULL AND q.completed_at IS NULL
    ORDER BY c.served, c.id LIMIT p_places FOR UPDATE OF q SKIP LOCKED);
END $$;

-- Writes the history, messages and notifications of the jobs that this transaction has taken, and records that their
-- organisations were served. The list may contain jobs that another worker had locked: those were not taken (xmin is
-- another transaction's). Fence 1 means the first claim of a job.
CREATE OR REPLACE FUNCTION penstock_jobs_taken() RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  ids text[] := string_to_array(current_setting('penstock.taken'), ' ');
  head text;
  now_iso text;
  turn bigint;
BEGIN
  IF cardinality(ids) = 0 THEN
    RETURN;
  END IF;
  INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
    SELECT j.id, j.org_id, j.sequence, 'job.processing', 'processing', 0, j.attempt, j.fence, j.started_at FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  head := penstock_event_head();
  now_iso := penstock_iso(clock_timestamp());
  INSERT INTO outbox (topic, key, event)
    SELECT 'jobs', j.id, penstock_job_message(head, now_iso, 'job.processing', j) FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid;
  INSERT INTO outbox (topic, key, event)
    SELECT 'events', j.org_id, penstock_message(head, now_iso, 'generation.started', j.org_id,
      jsonb_build_object('jobId', j.id, 'tool', j.tool, 'model', j.model)) FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid AND j.fence = 1;
  PERFORM pg_notify('penstock_job_event', concat_ws(':', j.id, j.sequence, j.org_id)) FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid;
  PERFORM pg_notify('penstock_outbox', '');
  turn := nextval('job_turn') * 1000000;
  -- Last, and in a fixed order, so that two workers cannot deadlock on these rows.
  INSERT INTO job_turns (tool, org_id, served)
    SELECT j.tool, j.org_id, turn + max(u.nth) FROM unnest(ids) WITH ORDINALITY u (id, nth) JOIN jobs j ON j.id = u.id AND j.xmin = pg_current_xact_id()::xid GROUP BY j.tool, j.org_id ORDER BY 1, 2
    ON CONFLICT (tool, org_id) DO UPDATE SET served = GREATEST(job_turns.served, EXCLUDED.served);
END $$;
