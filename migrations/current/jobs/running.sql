-- The writes of a running attempt. Every statement checks the attempt's fence and worker, so an attempt that has lost
-- its lease changes nothing. Rows are locked in the order of their ids, as in every batch of transitions.

-- Renews the leases of attempts.
CREATE OR REPLACE FUNCTION penstock_jobs_renew(p_worker text, p_ids text[], p_fences int[], p_lease_ms int)
RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  -- If a power failure undoes a renewal, the job is only attempted again: the commit need not wait for the disk.
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
    WITH held AS (
      SELECT j.id FROM jobs j JOIN unnest(p_ids, p_fences) AS mine (id, fence) ON mine.id = j.id AND mine.fence = j.fence
      WHERE j.status = 'processing' AND j.worker_id = p_worker ORDER BY j.id FOR UPDATE OF j
    )
    UPDATE jobs j SET lease_until = clock_timestamp() + p_lease_ms * interval '1 ms'
    FROM held WHERE j.id = held.id RETURNING j.id;
END $$;

-- Updates the progress, which never decreases.
CREATE OR REPLACE FUNCTION penstock_jobs_progress(p_worker text, p_ids text[], p_fences int[], p_percents int[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  mine record;
  j jobs;
BEGIN
  FOR mine IN SELECT * FROM unnest(p_ids, p_fences, p_percents) AS m (id, fence, percent) ORDER BY m.id LOOP
    UPDATE jobs SET progress = mine.percent, sequence = sequence + 1
      WHERE id = mine.id AND status = 'processing' AND worker_id = p_worker AND fence = mine.fence AND progress < mine.percent
      RETURNING * INTO j;
    IF FOUND THEN
      PERFORM penstock_job_progress_event(j);
    END IF;
  END LOOP;
END $$;
