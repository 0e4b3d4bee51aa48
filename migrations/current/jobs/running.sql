-- The writes of a running attempt. Every statement checks the attempt's fence and worker, so an attempt that has lost
-- its lease changes nothing. Rows are locked in the order of their ids, as in every batch of transitions.

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
