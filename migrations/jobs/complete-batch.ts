/**
 * processing → completed for a batch of attempts, with one settlement for all of them: only the winner of the compare-and-set settles. First
 * the jobs are locked in the order of ids, only then balances in the order of organisations: a cancellation that holds a job waits for a
 * balance, so nobody may hold a balance and wait for a job. What a job's answer shows of its buckets is what the batch left in them.
 */
export const JOB_COMPLETE_BATCH = `
CREATE OR REPLACE FUNCTION penstock_jobs_complete(p_worker text, p_items jsonb) RETURNS SETOF text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  ids text[];
  operations text[];
  items jsonb[];
  amounts bigint[];
  settled jsonb;
BEGIN
  SELECT array_agg(q.id ORDER BY q.nth), array_agg(q.operation_id ORDER BY q.nth), array_agg(q.item ORDER BY q.nth)
    INTO ids, operations, items
    FROM (
      SELECT l.*, row_number() OVER () AS nth FROM (
        SELECT j.id, j.operation_id, i.value AS item
        FROM jsonb_array_elements(p_items) i JOIN jobs j ON j.id = i.value ->> 'id' AND j.fence = (i.value ->> 'fence')::int
        WHERE j.status = 'processing' AND j.worker_id = p_worker ORDER BY j.id FOR UPDATE OF j) l) q;
  IF ids IS NULL THEN
    RETURN;
  END IF;
  SELECT array_agg(a.value::bigint ORDER BY u.nth, a.nth) INTO amounts
    FROM unnest(items) WITH ORDINALITY u (item, nth), jsonb_array_elements_text(u.item -> 'amounts') WITH ORDINALITY a (value, nth);
  settled := penstock_settle_many(operations, array_fill(false, ARRAY[cardinality(ids)]), amounts);
  UPDATE files f SET job_id = u.id
    FROM unnest(ids, items) u (id, item), jsonb_array_elements_text(u.item -> 'fileIds') x (id), jobs j
    WHERE f.id = x.id AND j.id = u.id AND f.org_id = j.org_id;
  RETURN QUERY
    WITH balances AS MATERIALIZED (
      SELECT b.nth - 1 AS at, penstock_job_balances(b.value) AS shown
      FROM jsonb_array_elements(settled -> 'balances') WITH ORDINALITY b (value, nth)
    ), moved AS (
      UPDATE jobs j SET status = 'completed', progress = 100, sequence = j.sequence + 1, output_data = d.item -> 'outputData',
          result = (d.item -> 'result') || jsonb_build_object('settlement', jsonb_build_object('charged', d.settled -> 2,
            'balances', (SELECT b.shown FROM balances b WHERE b.at = (d.settled ->> 1)::int))),
          actual_credits = ((d.settled -> 2 ->> 0)::bigint) / 100.0,
          completed_at = clock_timestamp(), worker_id = NULL, lease_until = NULL, deadline = NULL
        FROM ROWS FROM (unnest(ids), unnest(items), jsonb_array_elements(settled -> 'items')) d (id, item, settled)
        WHERE j.id = d.id RETURNING j AS job, d.item, d.settled -> 2 AS charged
    ), history AS (
      INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
      SELECT (m.job).id, (m.job).org_id, (m.job).sequence, 'job.completed', 'completed', 100, (m.job).attempt, (m.job).fence,
        (m.job).started_at
      FROM moved m
    ), messages AS (
      INSERT INTO outbox (topic, key, event)
      SELECT 'jobs', (m.job).id,
        penstock_event('job.completed', (m.job).org_id, penstock_job_view(m.job)) || jsonb_build_object('sequence', (m.job).sequence)
      FROM moved m
      UNION ALL
      SELECT 'events', (m.job).org_id, penstock_event('generation.completed', (m.job).org_id, jsonb_build_object(
        'jobId', (m.job).id, 'tool', (m.job).tool, 'model', (m.job).model,
        'outputUrl', m.item -> 'outputUrl',
        'durationMs', floor(extract(epoch FROM (m.job).completed_at - (m.job).started_at) * 1000)::bigint,
        'unitsUsed', trim_scale(((m.charged ->> (array_position(penstock_bucket_names(), m.item ->> 'unitType') - 1))::bigint) / 100.0),
        'unitType', m.item ->> 'unitType'))
      FROM moved m
    )
    SELECT (m.job).id FROM moved m, LATERAL pg_notify('penstock_job_event', (m.job).id || ':' || (m.job).sequence);
  PERFORM pg_notify('penstock_outbox', '');
END $$`;
