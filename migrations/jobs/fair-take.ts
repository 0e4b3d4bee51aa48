/**
 * pending → processing, as in `take.ts`, in fair shares. `p_slots` are places for everybody: they go to the organisations with the fewest jobs
 * of the tool in work, in all workers together. `p_newcomers` are places beyond them for organisations that have none in work: one each.
 * Jobs that only wait for time to pass (`p_resting`) are not in work.
 *
 * Where all that waits can be taken there is nothing to choose, which is how a queue is found most of the time.
 */
export const JOB_TAKE_FAIRLY = `
CREATE FUNCTION penstock_jobs_take(
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
          worker_id = p_worker, lease_until = clock_timestamp() + p_lease_ms * interval '1 ms', started_emitted = true,
          started_at = COALESCE(j.started_at, clock_timestamp()),
          deadline = COALESCE(j.deadline, clock_timestamp() + p_limits_ms[t] * interval '1 ms')
        FROM (
          SELECT q.id FROM unnest(ids) u (id) JOIN jobs q ON q.id = u.id AND q.worker_id IS NULL AND q.completed_at IS NULL
          FOR UPDATE OF q SKIP LOCKED
        ) p WHERE j.id = p.id RETURNING j.*;
  END LOOP;
  PERFORM set_config('penstock.taken', array_to_string(taken, ' '), true);
END $$`;

/** Organisations with waiting jobs of a tool, found by one look at the index each. */
const WAITING = `waiting AS (
      (SELECT q.org_id FROM jobs q WHERE q.status = 'pending' AND q.tool = p_tool ORDER BY q.org_id LIMIT 1)
      UNION ALL
      SELECT (SELECT q.org_id FROM jobs q
          WHERE q.status = 'pending' AND q.tool = p_tool AND q.org_id > o.org_id ORDER BY q.org_id LIMIT 1)
        FROM waiting o WHERE o.org_id IS NOT NULL
    )`;

/** How many jobs of a tool each organisation has in work. */
const WORKED = `worked AS MATERIALIZED (
      SELECT q.org_id, count(*) AS jobs FROM jobs q
      WHERE q.status = 'processing' AND q.tool = p_tool AND q.id <> ALL (p_resting) GROUP BY q.org_id
    )`;

/**
 * Whose turn it is: each waiting job counts as the first, second, … of its organisation, those in work included. The first of each come before
 * the second of anybody, and of equals those whose last turn is longest ago. More candidates are read than are answered, because other workers
 * may hold some; what is answered is locked.
 */
export const JOB_CHOOSE_FAIRLY = `
CREATE FUNCTION penstock_jobs_choose(p_tool text, p_slots int, p_resting text[]) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    WITH RECURSIVE ${WAITING}, ${WORKED}, due AS (
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
END $$`;

/** The oldest job of each organisation that has none in work, nor among `p_chosen`; those first whose last turn is longest ago. */
export const JOB_NEWCOMERS = `
CREATE FUNCTION penstock_jobs_newcomers(p_tool text, p_places int, p_resting text[], p_chosen text[]) RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    WITH RECURSIVE ${WAITING}, due AS (
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
END $$`;

/** A claim in one statement. */
export const JOB_CLAIM_FAIRLY = `
CREATE FUNCTION penstock_jobs_claim(
  p_worker text, p_tools text[], p_slots int[], p_newcomers int[], p_limits_ms bigint[], p_lease_ms int, p_resting text[]
) RETURNS SETOF jobs LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT * FROM penstock_jobs_take(p_worker, p_tools, p_slots, p_newcomers, p_limits_ms, p_lease_ms, p_resting);
  PERFORM penstock_jobs_taken();
END $$`;
