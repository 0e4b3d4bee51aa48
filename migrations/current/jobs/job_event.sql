-- The writes of every transition of a job in addition to its row, in the same transaction: the history, the Kafka
-- messages and the notifications.

-- The job in the form of its messages.
CREATE OR REPLACE FUNCTION penstock_job_view(j jobs) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object(
    'id', j.id, 'orgId', j.org_id, 'userId', j.user_id, 'tool', j.tool, 'status', j.status, 'progress', j.progress,
    'inputParams', j.input_params, 'outputData', j.output_data, 'estimatedCredits', j.estimated_credits,
    'actualCredits', j.actual_credits, 'errorMessage', j.error_message, 'createdAt', penstock_iso(j.created_at),
    'startedAt', penstock_iso(j.started_at), 'completedAt', penstock_iso(j.completed_at), 'model', j.model,
    'modelTier', j.model_tier)
$$;

-- Writes the job's message and the notification for its watchers. Call it after the update of the row: the row's
-- sequence is the number of this event.
CREATE OR REPLACE FUNCTION penstock_job_announce(j jobs, p_type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM penstock_emit('jobs', j.id,
    penstock_event(p_type, j.org_id, penstock_job_view(j)) || jsonb_build_object('sequence', j.sequence));
  PERFORM pg_notify('penstock_job_event', concat_ws(':', j.id, j.sequence, j.org_id));
END $$;

-- Writes the event of a change of status.
CREATE OR REPLACE FUNCTION penstock_job_event(j jobs) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
  VALUES (j.id, j.org_id, j.sequence, 'job.' || j.status, j.status, j.progress, j.attempt, j.fence, j.started_at);
  PERFORM penstock_job_announce(j, 'job.' || j.status);
END $$;

-- Writes the event of new progress.
CREATE OR REPLACE FUNCTION penstock_job_progress_event(j jobs) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
  VALUES (j.id, j.org_id, j.sequence, 'job.progress', j.status, j.progress, j.attempt, j.fence, j.started_at);
  PERFORM penstock_job_announce(j, 'job.progress');
END $$;

-- Writes the webhook event of a transition.
CREATE OR REPLACE FUNCTION penstock_generation_event(j jobs, p_type text, p_data jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM penstock_emit('events', j.org_id, penstock_event(p_type, j.org_id,
    jsonb_build_object('jobId', j.id, 'tool', j.tool, 'model', j.model) || p_data));
END $$;

-- The message of penstock_job_announce, for many rows at once (see penstock_message).
CREATE OR REPLACE FUNCTION penstock_job_message(p_head text, p_time text, p_type text, j jobs) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
  SELECT jsonb_build_object('id', p_head || penstock_event_tail(), 'type', p_type, 'orgId', j.org_id,
    'timestamp', p_time, 'sequence', j.sequence, 'data', penstock_job_view(j))
$$;
