-- processing → completed for a batch of attempts, with one settlement for all of them. Only the attempt that still
-- holds its job is settled. The function locks the jobs first (in the order of ids), then the balances (in the order of
-- organisations): a cancellation locks its job and waits for a balance, so no transaction may hold a balance and wait
-- for a job. The answer of a job shows the buckets after the whole batch.
--
-- A job has a worker only while it is processing (a CHECK of the table). So the statements test the worker and not the
-- status: with the status, the planner chooses a partial index that it assumes to be empty, and scans it for each job.
CREATE OR REPLACE FUNCTION penstock_jobs_complete(p_worker text, p_items jsonb) RETURNS SETOF text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  ids text[];
  items jsonb[];
  endings settlement_ending[];
  settled jsonb;
  shown jsonb[];
  head text := penstock_event_head();
  now_iso text := penstock_iso(clock_timestamp());
BEGIN
  SELECT array_agg(q.id), array_agg(q.item), array_agg(penstock_ending(q.operation_id,
      ARRAY(SELECT a.value::bigint FROM jsonb_array_elements_text(q.item -> 'amounts') WITH ORDINALITY a (value, nth) ORDER BY a.nth),
      penstock_outcome_sum(q.item -> 'outcome', q.spent)))
    INTO ids, items, endings FROM (
      SELECT j.id, j.operation_id, j.spent, i.value AS item
      FROM jsonb_array_elements(p_items) i JOIN jobs j ON j.id = i.value ->> 'id' AND j.fence = (i.value ->> 'fence')::int
      WHERE j.worker_id = p_worker ORDER BY j.id FOR UPDATE OF j) q;
  IF ids IS NULL THEN
    RETURN;
  END IF;
  settled := penstock_settle_many(endings);
  IF settled -> 'items' @> '[[2, -1]]' THEN
    -- A crash of PostgreSQL can lose a reservation that was committed without a flush. The job is charged nevertheless.
    PERFORM penstock_ledger_restore(j.operation_id, COALESCE(j.counted_for, '{}') || jsonb_build_object('org', j.org_id, 'key', j.key_id, 'user', j.user_id, 'kind', j.tool,
        'model', j.model, 'request', j.request_id, 'job', j.id, 'version', b.org_version, 'allowance', to_jsonb(b.allowance)))
      FROM unnest(ids) u (id) JOIN jobs j ON j.id = u.id JOIN balances b ON b.org_id = j.org_id AND NOT b.superseded
      WHERE NOT EXISTS (SELECT 1 FROM usage_ledger l WHERE l.operation_id = j.operation_id);
    settled := penstock_settle_many(endings);
  END IF;
  shown := ARRAY(SELECT penstock_job_balances(b.value)
    FROM jsonb_array_elements(settled -> 'balances') WITH ORDINALITY b (value, nth) ORDER BY b.nth);
  UPDATE files f SET job_id = u.id
    FROM unnest(ids, items) u (id, item), jsonb_array_elements_text(u.item -> 'fileIds') x (id), jobs j
    WHERE f.id = x.id AND j.id = u.id AND f.org_id = j.org_id;
  UPDATE jobs j SET status = 'completed', progress = 100, sequence = j.sequence + 1, output_data = d.item -> 'outputData',
      result = (d.item -> 'result') || jsonb_build_object('settlement', jsonb_build_object('charged', d.settled -> 2,
        'balances', shown[(d.settled ->> 1)::int + 1])),
      actual_credits = ((d.settled -> 2 ->> 0)::bigint) / 100.0,
      completed_at = clock_timestamp(), worker_id = NULL, lease_until = NULL, deadline = NULL
    FROM ROWS FROM (unnest(ids), unnest(items), jsonb_array_elements(settled -> 'items')) d (id, item, settled)
    WHERE j.id = d.id;
  INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
    SELECT j.id, j.org_id, j.sequence, 'job.completed', 'completed', 100, j.attempt, j.fence, j.started_at
    FROM unnest(ids) u (id) JOIN jobs j ON j.id = u.id;
  INSERT INTO outbox (topic, key, event)
    SELECT 'jobs', j.id, penstock_job_message(head, now_iso, 'job.completed', j) FROM unnest(ids) u (id) JOIN jobs j ON j.id = u.id;
  INSERT INTO outbox (topic, key, event)
    SELECT 'events', j.org_id, penstock_message(head, now_iso, 'generation.completed', j.org_id, jsonb_build_object(
      'jobId', j.id, 'tool', j.tool, 'model', j.model, 'outputUrl', u.item -> 'outputUrl',
      'durationMs', floor(extract(epoch FROM j.completed_at - j.started_at) * 1000)::bigint,
      'unitsUsed', trim_scale(((j.result #>> ARRAY['settlement', 'charged',
        (array_position(penstock_bucket_names(), u.item ->> 'unitType') - 1)::text])::bigint) / 100.0),
      'unitType', u.item ->> 'unitType'))
    FROM unnest(ids, items) u (id, item) JOIN jobs j ON j.id = u.id;
  PERFORM pg_notify('penstock_job_event', concat_ws(':', j.id, j.sequence, j.org_id)) FROM unnest(ids) u (id) JOIN jobs j ON j.id = u.id;
  PERFORM pg_notify('penstock_outbox', '');
  RETURN QUERY SELECT u.id FROM unnest(ids) u (id);
END $$;

-- The buckets that a synchronous answer shows after the charge: `{bucket: {remaining}}` in whole units, -1 if
-- unlimited. `p_balance` is the result of penstock_balance_json.
CREATE OR REPLACE FUNCTION penstock_job_balances(p_balance jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_object_agg(b.name, jsonb_build_object('remaining', CASE
      WHEN (p_balance #> ARRAY['allowance', i.at])::bigint = -1 THEN -1
      ELSE trim_scale(GREATEST(0, (p_balance #> ARRAY['allowance', i.at])::bigint + (p_balance #> ARRAY['topupStart', i.at])::bigint
        + (p_balance #> ARRAY['topupAdded', i.at])::bigint - (p_balance #> ARRAY['used', i.at])::bigint
        - (p_balance #> ARRAY['reserved', i.at])::bigint) / 100.0) END))
  FROM unnest(penstock_bucket_names()) WITH ORDINALITY b (name, nth), LATERAL (SELECT (b.nth - 1)::text AS at) i
  WHERE b.name <> 'chat_tokens'
$$;
