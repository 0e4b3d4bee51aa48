-- processing → pending. Progress starts again from 0. The next claim increments the fence, so the old attempt can no
-- longer write.
CREATE OR REPLACE FUNCTION penstock_job_requeue(j jobs, p_uncount boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  queued jobs;
BEGIN
  UPDATE jobs SET status = 'pending', progress = 0, sequence = sequence + 1, worker_id = NULL, lease_until = NULL,
      attempt = attempt - p_uncount::int, deadline = CASE WHEN p_uncount THEN NULL ELSE deadline END
    WHERE id = j.id RETURNING * INTO queued;
  PERFORM penstock_job_event(queued);
  PERFORM pg_notify('penstock_job_pending', queued.tool);
END $$;

-- Returns the jobs of a worker that stops. Their attempts do not count.
CREATE OR REPLACE FUNCTION penstock_jobs_give_back(p_worker text, p_ids text[], p_fences int[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  j jobs;
BEGIN
  FOR j IN
    SELECT q.* FROM jobs q JOIN unnest(p_ids, p_fences) AS mine (id, fence) ON mine.id = q.id AND mine.fence = q.fence
    WHERE q.status = 'processing' AND q.worker_id = p_worker ORDER BY q.id FOR UPDATE OF q
  LOOP
    PERFORM penstock_job_requeue(j, true);
    RETURN NEXT j.id;
  END LOOP;
END $$;

-- Requeues or fails the jobs whose lease or time limit has expired. The worker enforces the time limit itself, so the
-- sweep waits 5 seconds longer. Rows that another transaction has locked are left for the next sweep.
CREATE OR REPLACE FUNCTION penstock_jobs_sweep(p_max_attempts int) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  j jobs;
  moved int := 0;
BEGIN
  FOR j IN
    SELECT q.* FROM jobs q
    WHERE q.status = 'processing'
      AND (q.lease_until < clock_timestamp() OR q.deadline < clock_timestamp() - interval '5 s')
    ORDER BY q.org_id, q.id LIMIT 200 FOR UPDATE SKIP LOCKED
  LOOP
    IF j.deadline < clock_timestamp() THEN
      PERFORM penstock_job_finish(j, 'failed', 'Job timed out', 'server_error');
    ELSIF j.attempt >= p_max_attempts THEN
      PERFORM penstock_job_finish(j, 'failed', 'Job processing error', 'server_error');
    ELSE
      PERFORM penstock_job_requeue(j, false);
    END IF;
    moved := moved + 1;
  END LOOP;
  RETURN moved;
END $$;
