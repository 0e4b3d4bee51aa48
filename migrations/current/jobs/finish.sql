-- pending or processing → failed or cancelled. The caller has locked the row. The reservation is released; but a job
-- that is cancelled after its caller got parts of it is charged the reserved amount, because the complete result was
-- ordered at the upstream. `p_outcome` is the outcome for the operation's record.
CREATE OR REPLACE FUNCTION penstock_job_finish(j jobs, p_status text, p_message text, p_code text, p_outcome jsonb DEFAULT NULL)
RETURNS jobs LANGUAGE plpgsql AS $$
DECLARE
  done jobs;
  outcome jsonb := COALESCE(p_outcome, jsonb_build_object('status', p_status,
    'errorCode', CASE p_status WHEN 'failed' THEN COALESCE(p_code, 'server_error') END, 'costNano', '0'));
BEGIN
  UPDATE jobs SET status = p_status, sequence = sequence + 1, completed_at = clock_timestamp(), worker_id = NULL,
      lease_until = NULL, deadline = NULL,
      error_message = CASE WHEN p_status = 'failed' THEN p_message END, error_code = p_code
    WHERE id = j.id RETURNING * INTO done;
  outcome := penstock_outcome_sum(outcome, done.spent);
  IF p_status = 'cancelled' AND j.live IS NOT NULL AND EXISTS (SELECT FROM job_parts p WHERE p.job_id = j.id) THEN
    PERFORM penstock_settle(done.operation_id,
      (SELECT l.reserved FROM usage_ledger l WHERE l.operation_id = done.operation_id), outcome);
  ELSE
    PERFORM penstock_release(done.operation_id, outcome);
  END IF;
  PERFORM penstock_job_event(done);
  PERFORM penstock_generation_event(done, 'generation.failed', jsonb_build_object('errorMessage', p_message));
  RETURN done;
END $$;

-- processing → failed, by the worker that holds the job.
CREATE OR REPLACE FUNCTION penstock_job_fail(p_worker text, p_id text, p_fence int, p_message text, p_code text, p_outcome jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  j jobs;
BEGIN
  SELECT * INTO j FROM jobs q
    WHERE q.id = p_id AND q.status = 'processing' AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM penstock_job_finish(j, 'failed', p_message, p_code, p_outcome);
  RETURN true;
END $$;

-- pending or processing → cancelled. Returns no row for an unknown job; `moved` is false if the job had already
-- finished.
CREATE OR REPLACE FUNCTION penstock_job_cancel(p_org text, p_id text) RETURNS TABLE (moved boolean, job jobs) LANGUAGE plpgsql AS $$
DECLARE
  j jobs;
BEGIN
  SELECT * INTO j FROM jobs q WHERE q.id = p_id AND q.org_id = p_org FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF j.status NOT IN ('pending', 'processing') THEN
    RETURN QUERY SELECT false, j;
    RETURN;
  END IF;
  IF j.status = 'processing' THEN
    PERFORM pg_notify('penstock_job_cancel', j.id);
  END IF;
  j := penstock_job_finish(j, 'cancelled', 'Cancelled', NULL);
  RETURN QUERY SELECT true, j;
END $$;
