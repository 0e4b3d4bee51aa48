-- Stores a batch of finished attempts, each `{id, claim, kind, ok, endedAt, attempt}`; `endedAt` is in milliseconds of
-- this database's clock. A `scheduled` attempt sets the time of the next one by `p_delays_ms` (one delay for each
-- attempt); a `manual` attempt does not change the schedule; a `test` attempt does not change the webhook's failure
-- count. An attempt that has lost its claim changes nothing. The webhook's row is locked with FOR NO KEY UPDATE, so new
-- deliveries, whose foreign key refers to it, do not wait.
CREATE OR REPLACE FUNCTION penstock_webhook_record(p_batch jsonb, p_delays_ms bigint[], p_disable_after int) RETURNS SETOF text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  r record;
BEGIN
  PERFORM 1 FROM webhooks w
    WHERE w.id IN (SELECT x.webhook_id FROM jsonb_array_elements(p_batch) b JOIN webhook_deliveries x ON x.id = b ->> 'id')
    ORDER BY w.id FOR NO KEY UPDATE;
  FOR r IN
    WITH finished AS (
      SELECT b ->> 'id' AS id, b ->> 'claim' AS claim, b ->> 'kind' AS kind, (b ->> 'ok')::boolean AS ok, b -> 'attempt' AS attempt,
        LEAST(v_now, to_timestamp((b ->> 'endedAt')::float8 / 1000)) AS ended
      FROM jsonb_array_elements(p_batch) b
    ), written AS (
      UPDATE webhook_deliveries x SET
        attempts = x.attempts || f.attempt,
        scheduled_attempts = x.scheduled_attempts + (f.kind = 'scheduled')::int,
        status = CASE
          WHEN f.ok THEN 'succeeded'
          WHEN f.kind = 'test' THEN 'failed'
          WHEN f.kind = 'manual' THEN x.status
          WHEN x.scheduled_attempts + 1 >= cardinality(p_delays_ms) THEN 'failed'
          ELSE 'pending' END,
        next_attempt_at = CASE
          WHEN f.ok OR f.kind = 'test' THEN NULL
          WHEN f.kind = 'manual' THEN x.next_attempt_at
          WHEN x.scheduled_attempts + 1 >= cardinality(p_delays_ms) THEN NULL
          ELSE f.ended + p_delays_ms[x.scheduled_attempts + 2] * interval '1 ms' END,
        claimed_until = NULL, claim = NULL
        FROM finished f WHERE x.id = f.id AND x.claim = f.claim
        RETURNING x.id, x.webhook_id, f.ok, f.ended, f.kind <> 'test' AND x.event_type <> 'webhook.test' AS counts
    )
    SELECT d.webhook_id, array_agg(d.id) AS ids, bool_or(d.counts) AS counts,
      array_agg(d.ended ORDER BY d.ended) FILTER (WHERE d.counts AND NOT d.ok) AS failed,
      array_agg(d.ended ORDER BY d.ended) FILTER (WHERE d.counts AND d.ok) AS succeeded
    FROM written d GROUP BY d.webhook_id
  LOOP
    IF r.counts THEN
      PERFORM penstock_webhook_count(r.webhook_id, r.failed, r.succeeded, p_disable_after);
    END IF;
    RETURN QUERY SELECT unnest(r.ids);
  END LOOP;
END $$;

-- Counts attempts of one webhook by the times when they ended, ascending. The caller has locked the webhook. The tenth
-- failure in a row disables it, unless an attempt that began earlier is still running: it may have succeeded in the
-- meantime, so the call that stores it decides.
CREATE OR REPLACE FUNCTION penstock_webhook_count(p_webhook text, p_failed timestamptz[], p_succeeded timestamptz[], p_disable_after int)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w webhooks;
  times timestamptz[];
  untimed int;
  since timestamptz;
  success timestamptz;
  disabled boolean := false;
BEGIN
  SELECT * INTO STRICT w FROM webhooks x WHERE x.id = p_webhook;
  times := w.failure_times[GREATEST(1, cardinality(w.failure_times) - w.consecutive_failures + 1):];
  untimed := w.consecutive_failures - cardinality(times);
  since := COALESCE(w.failures_after, '-infinity');
  IF p_failed IS NOT NULL THEN
    times := ARRAY(SELECT t FROM unnest(times || p_failed) t WHERE t > since ORDER BY t);
  END IF;
  FOREACH success IN ARRAY COALESCE(p_succeeded, '{}') LOOP
    CONTINUE WHEN success <= since;
    disabled := disabled OR untimed + (SELECT count(*) FROM unnest(times) t WHERE t <= success) >= p_disable_after;
    times := ARRAY(SELECT t FROM unnest(times) t WHERE t > success ORDER BY t);
    untimed := 0;
    since := success;
  END LOOP;
  IF untimed + cardinality(times) >= p_disable_after THEN
    disabled := disabled OR NOT EXISTS (
      SELECT 1 FROM webhook_deliveries d
      WHERE d.webhook_id = p_webhook AND d.claim IS NOT NULL AND d.event_type <> 'webhook.test' AND d.claimed_until > clock_timestamp()
        AND d.claimed_until - interval '60 seconds' <= times[GREATEST(1, p_disable_after - untimed)]);
  END IF;
  UPDATE webhooks x SET
    consecutive_failures = untimed + cardinality(times),
    failure_times = times[GREATEST(1, cardinality(times) - 31):],
    failures_after = NULLIF(since, '-infinity'),
    last_delivery_at = GREATEST(x.last_delivery_at, p_failed[cardinality(p_failed)], p_succeeded[cardinality(p_succeeded)]),
    enabled = x.enabled AND NOT disabled,
    disabled_reason = CASE WHEN x.enabled AND disabled THEN p_disable_after || ' consecutive failed attempts' ELSE x.disabled_reason END
    WHERE x.id = p_webhook;
  IF w.enabled AND disabled THEN
    INSERT INTO audit_log (id, org_id, actor_kind, action, subject_id, subject_name, before, after)
      VALUES ('aud_' || substr(penstock_event_id(), 5), w.org_id, 'system', 'webhook_disabled', w.id, w.name,
        '{"enabled": true}', '{"enabled": false}');
  END IF;
END $$;
