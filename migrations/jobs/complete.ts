/**
 * processing → completed, with the settlement: only the winner of the compare-and-set settles. Takes a batch. First every job is
 * locked in the order of ids, only then balances in the order of organisations: a cancellation that holds a job waits for a balance,
 * so nobody may hold a balance and wait for a job.
 */
export const JOB_COMPLETE = `
CREATE OR REPLACE FUNCTION penstock_jobs_complete(p_worker text, p_items jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  picked record;
  item jsonb;
  j jobs;
  settled jsonb;
  unit int;
BEGIN
  PERFORM 1 FROM jobs q WHERE q.id IN (SELECT i.value ->> 'id' FROM jsonb_array_elements(p_items) i) ORDER BY q.id FOR UPDATE;
  FOR picked IN
    SELECT i.value AS item, q AS job FROM jsonb_array_elements(p_items) i
    JOIN jobs q ON q.id = i.value ->> 'id' AND q.fence = (i.value ->> 'fence')::int
    WHERE q.status = 'processing' AND q.worker_id = p_worker ORDER BY q.org_id, q.id
  LOOP
    item := picked.item;
    j := picked.job;
    unit := array_position(penstock_bucket_names(), item ->> 'unitType');
    settled := penstock_settle(j.operation_id, ARRAY(
      SELECT a.value::bigint FROM jsonb_array_elements_text(item -> 'amounts') WITH ORDINALITY a (value, nth) ORDER BY nth));
    UPDATE jobs SET status = 'completed', progress = 100, sequence = sequence + 1, output_data = item -> 'outputData',
        result = (item -> 'result') || jsonb_build_object('settlement', jsonb_build_object(
          'charged', settled -> 'charged', 'balances', penstock_job_balances(settled -> 'balances'))),
        actual_credits = ((settled -> 'charged' ->> 0)::bigint) / 100.0,
        completed_at = clock_timestamp(), worker_id = NULL, lease_until = NULL, deadline = NULL
      WHERE id = j.id RETURNING * INTO j;
    PERFORM penstock_job_bind_files(j, item -> 'fileIds');
    PERFORM penstock_job_event(j);
    PERFORM penstock_generation_event(j, 'generation.completed', jsonb_build_object(
      'outputUrl', item -> 'outputUrl',
      'durationMs', floor(extract(epoch FROM j.completed_at - j.started_at) * 1000)::bigint,
      'unitsUsed', trim_scale(((settled -> 'charged' ->> (unit - 1))::bigint) / 100.0),
      'unitType', item ->> 'unitType'));
    RETURN NEXT j.id;
  END LOOP;
END $$`;

/**
 * What a synchronous answer shows of the buckets after the charge: `{bucket: {remaining}}` in whole units, -1 where unlimited.
 * Takes the balance as penstock_settle gives it: `{limits, used, reserved}`, hundredths in the order of BUCKETS.
 */
export const JOB_BALANCES = [
  `CREATE OR REPLACE FUNCTION penstock_bucket_names() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY['credits', 'chat_tokens', 'image_generations', 'image_edits', 'video_seconds', 'stt_seconds', 'tts_chars',
      'music_tracks', 'agent_runs']
  $$`,
  `CREATE OR REPLACE FUNCTION penstock_job_balances(p_balance jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(b.name, jsonb_build_object('remaining', CASE
        WHEN (p_balance #>> ARRAY['limits', i.at])::bigint = -1 THEN -1
        ELSE trim_scale(GREATEST(0, (p_balance #>> ARRAY['limits', i.at])::bigint - (p_balance #>> ARRAY['used', i.at])::bigint
          - (p_balance #>> ARRAY['reserved', i.at])::bigint) / 100.0) END))
    FROM unnest(penstock_bucket_names()) WITH ORDINALITY b (name, nth), LATERAL (SELECT (b.nth - 1)::text AS at) i
    WHERE b.name <> 'chat_tokens'
  $$`,
];
