/**
 * `consecutive_failures` counts by the order in which attempts ended, whoever wrote them first: `failure_times` are the ends of the
 * failures counted (the newest 32; what the count holds beyond them are older ones, or those of a version that kept no times), and none
 * counts that ended before `failures_after`, the end of the last success or the re-enabling.
 *
 * The claims that are held can be counted without a look at what waits.
 */
export const FAILURE_TIMES = `
ALTER TABLE webhooks ADD COLUMN failure_times timestamptz[] NOT NULL DEFAULT '{}', ADD COLUMN failures_after timestamptz;
CREATE INDEX webhook_deliveries_claimed ON webhook_deliveries (webhook_id) WHERE claim IS NOT NULL;`;

/**
 * Due deliveries of enabled webhooks. A receiver has at most `p_per_webhook` in flight on one process (`p_busy`: those that this process
 * has), one that fails at most two; the rest is shared in turns over organisations, so that neither a dead receiver nor one
 * organisation's burst delays anybody else. Over all processes its failures in a row and its unwritten attempts are never more than ten:
 * the tenth failure finds no other attempt under way, so that it disables the webhook exactly (contract 6.1). One claim at a time, or two
 * processes would give the same places away. Looks only at webhooks that have something waiting. `p_first_delay_ms` is the delay of the
 * first attempt; `places` is how many of its webhook this claim could have taken.
 */
export const CLAIM = `
CREATE OR REPLACE FUNCTION penstock_webhook_claim(p_claim text, p_busy jsonb, p_limit int, p_per_webhook int, p_claim_ms int, p_first_delay_ms bigint)
RETURNS TABLE (id text, org_id text, webhook_id text, event jsonb, url text, custom_headers jsonb, secret bytea, next_secret bytea,
  rotating boolean, places int)
LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(7310, 1);
  v_now := clock_timestamp();
  RETURN QUERY
    WITH RECURSIVE waiting (webhook_id) AS (
      (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'pending' ORDER BY d.webhook_id LIMIT 1)
      UNION ALL
      SELECT (SELECT d.webhook_id FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.webhook_id > t.webhook_id ORDER BY d.webhook_id LIMIT 1)
      FROM waiting t WHERE t.webhook_id IS NOT NULL
    ), target AS (
      SELECT w.id, w.org_id, GREATEST(0, LEAST(
          CASE WHEN w.consecutive_failures > 1 THEN LEAST(2, p_per_webhook) ELSE p_per_webhook END
            - COALESCE((p_busy ->> w.id)::int, 0),
          10 - w.consecutive_failures - (
            SELECT count(*)::int FROM webhook_deliveries f
            WHERE f.webhook_id = w.id AND f.claim IS NOT NULL AND f.claimed_until >= v_now))) AS places
      FROM waiting t JOIN webhooks w ON w.id = t.webhook_id WHERE w.enabled
    ), due AS (
      SELECT x.id, x.next_attempt_at, t.org_id, t.places
      FROM target t
      CROSS JOIN LATERAL (
        SELECT d.id, d.next_attempt_at FROM webhook_deliveries d
        WHERE d.webhook_id = t.id AND d.status = 'pending' AND d.next_attempt_at <= v_now
          AND (d.claimed_until IS NULL OR d.claimed_until < v_now)
          AND (d.scheduled_attempts > 0 OR p_first_delay_ms = 0
            OR d.next_attempt_at + p_first_delay_ms * interval '1 ms' <= v_now)
        ORDER BY d.next_attempt_at LIMIT t.places
        FOR UPDATE SKIP LOCKED
      ) x
      WHERE t.places > 0
    ), turns AS (
      SELECT d.id, d.places, row_number() OVER (PARTITION BY d.org_id ORDER BY d.next_attempt_at, d.id) AS turn FROM due d
    ), chosen AS (
      SELECT t.id, t.places FROM turns t ORDER BY t.turn, t.id LIMIT p_limit
    ), claimed AS (
      UPDATE webhook_deliveries d SET claimed_until = v_now + p_claim_ms * interval '1 ms', claim = p_claim
      FROM chosen WHERE d.id = chosen.id
      RETURNING d.id, d.org_id, d.webhook_id, d.event_id, chosen.places
    )
    SELECT c.id, c.org_id, c.webhook_id, e.event, w.url, w.custom_headers, w.secret, w.next_secret,
      COALESCE(w.rotates_at > v_now, false), c.places
    FROM claimed c JOIN webhooks w ON w.id = c.webhook_id JOIN webhook_events e ON e.id = c.event_id;
END $$;`;

/**
 * Counts attempts of one webhook (locked) that ended at these times, ascending. The tenth failure in a row disables it, unless an attempt
 * is under way that began before and may have ended in success since: then whoever writes that one decides.
 */
const COUNT = `
CREATE FUNCTION penstock_webhook_count(p_webhook text, p_failed timestamptz[], p_succeeded timestamptz[], p_disable_after int)
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
END $$;`;

/**
 * Writes a batch of finished attempts: each `{id, claim, kind, ok, endedAt, attempt}`, the end in milliseconds of this
 * database's clock. `scheduled` attempts move along the delays
 * (`p_delays_ms`, one for each attempt) from their end; `manual` ones leave the schedule alone; `test` ones do not touch the webhook's
 * failure count. An attempt whose claim was lost changes nothing. A webhook's row is locked against other counts only: events that
 * become deliveries meanwhile refer to it, and wait for nobody.
 */
const RECORD = `
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
END $$;`;

/**
 * Sends again what failed, and what the webhook missed while it was disabled, among the events of a span of time that it lists. An event
 * that was delivered, or still waits for its next attempt, is left alone; an attempt by hand that is under way is written first.
 */
const RECOVER = `
CREATE OR REPLACE FUNCTION penstock_webhook_recover(p_org text, p_webhook text, p_since timestamptz, p_until timestamptz) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  failed bigint;
  missed bigint;
BEGIN
  UPDATE webhook_deliveries d
    SET status = 'pending', scheduled_attempts = 0, next_attempt_at = clock_timestamp()
    FROM webhook_events e
    WHERE d.webhook_id = p_webhook AND d.org_id = p_org AND d.status = 'failed' AND e.id = d.event_id
      AND e.type <> 'webhook.test' AND e.created_at >= p_since AND e.created_at <= p_until;
  GET DIAGNOSTICS failed = ROW_COUNT;
  INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_id, event_type, next_attempt_at)
    SELECT 'dlv' || substr(penstock_event_id(), 4), w.org_id, w.id, e.id, e.type, clock_timestamp()
    FROM webhooks w JOIN webhook_events e ON e.org_id = w.org_id AND e.type = ANY (w.events) AND e.created_at >= w.created_at
    WHERE w.id = p_webhook AND w.org_id = p_org AND e.created_at >= p_since AND e.created_at <= p_until
    ON CONFLICT (webhook_id, event_id) DO NOTHING;
  GET DIAGNOSTICS missed = ROW_COUNT;
  PERFORM pg_notify('penstock_webhook', '');
  RETURN failed + missed;
END $$;`;

export const CONSECUTIVE = [FAILURE_TIMES, CLAIM, COUNT, RECORD, RECOVER];
