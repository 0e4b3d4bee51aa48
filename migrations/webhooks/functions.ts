/**
 * An event becomes deliveries in the transaction that it happens in, so that exactly the webhooks get it that were enabled and listed its
 * type at that moment, whatever the bus does. Events are kept for organisations that have any webhook, so that `recover` can send what a
 * disabled one missed.
 */
export const FAN_OUT = `
CREATE FUNCTION penstock_webhook_fan_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM webhooks WHERE org_id = NEW.key) THEN
    RETURN NULL;
  END IF;
  INSERT INTO webhook_events (id, org_id, type, event)
    VALUES (NEW.event ->> 'id', NEW.key, NEW.event ->> 'type', NEW.event) ON CONFLICT DO NOTHING;
  INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_id, event_type, next_attempt_at)
    SELECT 'dlv' || substr(penstock_event_id(), 4), w.org_id, w.id, NEW.event ->> 'id', NEW.event ->> 'type', clock_timestamp()
    FROM webhooks w
    WHERE w.org_id = NEW.key AND w.enabled AND NEW.event ->> 'type' = ANY (w.events)
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM pg_notify('penstock_webhook', '');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER outbox_webhooks AFTER INSERT ON outbox FOR EACH ROW WHEN (NEW.topic = 'events')
  EXECUTE FUNCTION penstock_webhook_fan_out();`;

/**
 * Due deliveries of enabled webhooks. A receiver has at most `p_per_webhook` in flight on one process (`p_busy`: those that this process
 * has), one that fails at most two; the rest is shared in turns over organisations, so that neither a dead receiver nor one
 * organisation's burst delays anybody else. Looks only at webhooks that have something waiting. `p_first_delay_ms` is the delay of
 * the first attempt.
 */
export const CLAIM = `
CREATE FUNCTION penstock_webhook_claim(p_claim text, p_busy jsonb, p_limit int, p_per_webhook int, p_claim_ms int, p_first_delay_ms bigint)
RETURNS TABLE (id text, org_id text, webhook_id text, event jsonb, url text, custom_headers jsonb, secret bytea, next_secret bytea,
  rotating boolean, places int)
LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
    WITH RECURSIVE waiting (webhook_id) AS (
      (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'pending' ORDER BY d.webhook_id LIMIT 1)
      UNION ALL
      SELECT (SELECT d.webhook_id FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.webhook_id > t.webhook_id ORDER BY d.webhook_id LIMIT 1)
      FROM waiting t WHERE t.webhook_id IS NOT NULL
    ), target AS (
      SELECT w.id, w.org_id,
        CASE WHEN w.consecutive_failures > 1 THEN LEAST(2, p_per_webhook) ELSE p_per_webhook END AS places
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
        ORDER BY d.next_attempt_at
        LIMIT GREATEST(0, t.places - COALESCE((p_busy ->> t.id)::int, 0))
        FOR UPDATE SKIP LOCKED
      ) x
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
 * Writes a batch of finished attempts: each \`{id, claim, kind, ok, attempt}\`. \`scheduled\` attempts move along the delays
 * (\`p_delays_ms\`, one for each attempt) from their end; \`manual\` ones leave the schedule alone; \`test\` ones do not touch the webhook's
 * failure count. The tenth failed attempt in a row disables the webhook. An attempt whose claim was lost is not counted.
 */
export const RECORD = `
CREATE FUNCTION penstock_webhook_record(p_batch jsonb, p_delays_ms bigint[], p_disable_after int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  r record;
  d webhook_deliveries%ROWTYPE;
BEGIN
  PERFORM 1 FROM webhooks w
    WHERE w.id IN (SELECT x.webhook_id FROM webhook_deliveries x WHERE x.id IN (SELECT b ->> 'id' FROM jsonb_array_elements(p_batch) b))
    ORDER BY w.id FOR UPDATE;
  FOR r IN
    SELECT b ->> 'id' AS id, b ->> 'claim' AS claim, b ->> 'kind' AS kind, (b ->> 'ok')::boolean AS ok, b -> 'attempt' AS attempt
    FROM jsonb_array_elements(p_batch) WITH ORDINALITY AS t (b, n) ORDER BY n
  LOOP
    UPDATE webhook_deliveries x SET
      attempts = x.attempts || r.attempt,
      scheduled_attempts = x.scheduled_attempts + (r.kind = 'scheduled')::int,
      status = CASE
        WHEN r.ok THEN 'succeeded'
        WHEN r.kind = 'test' THEN 'failed'
        WHEN r.kind = 'manual' THEN x.status
        WHEN x.scheduled_attempts + 1 >= cardinality(p_delays_ms) THEN 'failed'
        ELSE 'pending' END,
      next_attempt_at = CASE
        WHEN r.ok OR r.kind = 'test' THEN NULL
        WHEN r.kind = 'manual' THEN x.next_attempt_at
        WHEN x.scheduled_attempts + 1 >= cardinality(p_delays_ms) THEN NULL
        ELSE clock_timestamp() + p_delays_ms[x.scheduled_attempts + 2] * interval '1 ms' END,
      claimed_until = NULL, claim = NULL
      WHERE x.id = r.id AND x.claim = r.claim
      RETURNING x.* INTO d;
    CONTINUE WHEN NOT FOUND;
    IF r.kind <> 'test' AND d.event_type <> 'webhook.test' THEN
      UPDATE webhooks w SET
        consecutive_failures = CASE WHEN r.ok THEN 0 ELSE w.consecutive_failures + 1 END,
        last_delivery_at = clock_timestamp(),
        enabled = w.enabled AND (r.ok OR w.consecutive_failures + 1 < p_disable_after),
        disabled_reason = CASE
          WHEN w.enabled AND NOT r.ok AND w.consecutive_failures + 1 >= p_disable_after
          THEN p_disable_after || ' consecutive failed attempts' ELSE w.disabled_reason END
        WHERE w.id = d.webhook_id;
    END IF;
    RETURN NEXT d.id;
  END LOOP;
END $$;`;

/**
 * Sends again what failed, and what the webhook missed while it was disabled, among the events of a span of time that it lists. An event
 * that was delivered, or still waits for its next attempt, is left alone.
 */
export const RECOVER = `
CREATE FUNCTION penstock_webhook_recover(p_org text, p_webhook text, p_since timestamptz, p_until timestamptz) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  failed bigint;
  missed bigint;
BEGIN
  UPDATE webhook_deliveries d
    SET status = 'pending', scheduled_attempts = 0, next_attempt_at = clock_timestamp(), claimed_until = NULL, claim = NULL
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
