/**
 * pending → processing. For each tool up to its free slots, one organisation after the other: first each organisation's oldest job,
 * those first whose last turn is longest ago, then their second ones. So an organisation with 1,000 jobs waiting does not delay
 * another's first. More candidates are read than are taken, because other workers may hold some of them.
 */
export const JOB_CLAIM = `
CREATE OR REPLACE FUNCTION penstock_jobs_claim(
  p_worker text, p_tools text[], p_slots int[], p_limits_ms bigint[], p_lease_ms int
) RETURNS SETOF jobs LANGUAGE plpgsql AS $$
DECLARE
  picked record;
  j jobs;
  turns jsonb := '{}';
BEGIN
  FOR t IN 1 .. cardinality(p_tools) LOOP
    CONTINUE WHEN p_slots[t] <= 0;
    FOR picked IN
      WITH RECURSIVE orgs AS (
        (SELECT q.org_id FROM jobs q WHERE q.status = 'pending' AND q.tool = p_tools[t] ORDER BY q.org_id LIMIT 1)
        UNION ALL
        SELECT (SELECT q.org_id FROM jobs q
            WHERE q.status = 'pending' AND q.tool = p_tools[t] AND q.org_id > o.org_id ORDER BY q.org_id LIMIT 1)
          FROM orgs o WHERE o.org_id IS NOT NULL
      ), due AS (
        SELECT o.org_id, COALESCE(turn.served, 0) AS served
        FROM orgs o LEFT JOIN job_turns turn ON turn.tool = p_tools[t] AND turn.org_id = o.org_id
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
      SELECT q.id, q.started_emitted FROM candidates c JOIN jobs q ON q.id = c.id AND q.status = 'pending'
      ORDER BY c.nth, c.served, c.id LIMIT p_slots[t] FOR UPDATE OF q SKIP LOCKED
    LOOP
      UPDATE jobs SET status = 'processing', progress = 0, sequence = sequence + 1, attempt = attempt + 1, fence = fence + 1,
          worker_id = p_worker, lease_until = clock_timestamp() + p_lease_ms * interval '1 ms', started_emitted = true,
          started_at = COALESCE(started_at, clock_timestamp()),
          deadline = COALESCE(deadline, clock_timestamp() + p_limits_ms[t] * interval '1 ms')
        WHERE id = picked.id RETURNING * INTO j;
      PERFORM penstock_job_event(j);
      IF NOT picked.started_emitted THEN
        PERFORM penstock_generation_event(j, 'generation.started', '{}');
      END IF;
      turns := turns || jsonb_build_object(j.tool || ' ' || j.org_id, nextval('job_turn'));
      RETURN NEXT j;
    END LOOP;
  END LOOP;
  -- At the end and in one order, so that two workers never wait for each other's turns.
  INSERT INTO job_turns (tool, org_id, served)
    SELECT split_part(t.key, ' ', 1), split_part(t.key, ' ', 2), t.value::text::bigint FROM jsonb_each(turns) t ORDER BY 1, 2
    ON CONFLICT (tool, org_id) DO UPDATE SET served = GREATEST(job_turns.served, EXCLUDED.served);
END $$`;
