-- Creates a batch of jobs in status pending, in one transaction. Creations of one organisation wait for each other on
-- an advisory lock, so maxPendingJobs is exact; the reservation of a refused job is released here. The caller sorts the
-- items by organisation, because every batch locks balances in that order.
CREATE OR REPLACE FUNCTION penstock_jobs_create(p_items jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
  j jobs;
  unfinished bigint;
  answers jsonb := '[]';
BEGIN
  PERFORM pg_advisory_xact_lock(7303, slot) FROM (
    SELECT DISTINCT hashtext(i.value ->> 'orgId') AS slot FROM jsonb_array_elements(p_items) i ORDER BY slot) slots;
  FOR item IN SELECT i.value FROM jsonb_array_elements(p_items) WITH ORDINALITY i (value, nth) ORDER BY nth LOOP
    SELECT count(*) INTO unfinished FROM (
      SELECT 1 FROM jobs o WHERE o.org_id = item ->> 'orgId' AND o.status IN ('pending', 'processing')
      LIMIT (item ->> 'maxPending')::bigint) o;
    IF unfinished >= (item ->> 'maxPending')::bigint THEN
      PERFORM penstock_release(item ->> 'operationId', '{"status": "failed", "errorCode": "rate_limited", "costNano": "0"}');
      answers := answers || jsonb_build_object('id', item ->> 'id', 'createdAt', NULL);
      CONTINUE;
    END IF;
    INSERT INTO jobs (id, org_id, user_id, key_id, tool, input_params, estimated_credits, model, model_tier, multiplier,
        operation_id, request_id, client, counted_for, live)
      VALUES (item ->> 'id', item ->> 'orgId', item ->> 'userId', item ->> 'keyId', item ->> 'tool', item -> 'inputParams',
        (item ->> 'estimatedCredits')::double precision, item ->> 'model', item ->> 'modelTier', (item ->> 'multiplier')::int,
        item ->> 'operationId', item ->> 'requestId', item -> 'client',
        NULLIF(item -> 'countedFor', 'null'), NULLIF(item -> 'live', 'null'))
      RETURNING * INTO j;
    PERFORM penstock_attach(j.operation_id, j.id);
    IF item ->> 'idempotencyKey' IS NOT NULL THEN
      PERFORM penstock_idempotency_bind(item ->> 'idempotencyKey', j.id);
    END IF;
    PERFORM penstock_job_bind_files(j, item -> 'fileIds');
    PERFORM penstock_job_event(j);
    PERFORM pg_notify('penstock_job_pending', j.tool);
    answers := answers || jsonb_build_object('id', j.id, 'createdAt', penstock_iso(j.created_at));
  END LOOP;
  RETURN answers;
END $$;

-- Binds files to a job: they are deleted together with it.
CREATE OR REPLACE FUNCTION penstock_job_bind_files(j jobs, p_file_ids jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF jsonb_array_length(p_file_ids) > 0 THEN
    UPDATE files f SET job_id = j.id
      WHERE f.org_id = j.org_id AND f.id IN (SELECT jsonb_array_elements_text(p_file_ids));
  END IF;
END $$;
