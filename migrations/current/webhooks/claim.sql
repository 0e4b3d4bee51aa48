-- Claims due deliveries of enabled webhooks. A webhook has at most `p_per_webhook` deliveries in flight on one process
-- (`p_busy`: the number in flight now), or two if its last two attempts failed. The rest is divided between
-- organisations in turn, so that neither a dead receiver nor a burst of one organisation delays the others. On all
-- processes together the failures in a row plus the running attempts of a webhook are at most ten: when the tenth
-- attempt fails, no other attempt is running, so the webhook is disabled after exactly ten (contract 6.1). Only one
-- claim runs at a time, so that two processes cannot give away the same places. Only webhooks with pending deliveries
-- are read. `p_first_delay_ms`: the delay of the first attempt. `places`: how many deliveries of its webhook this claim
-- could have taken.
--
-- The settings make the planner read indexes and stop when it has enough rows. Each connection caches a plan that may
-- come from a time when the tables were small; without the settings each claim reads all rows of a burst of ten
-- thousand deliveries. Bitmap scans are off because only a plain index scan marks dead index entries, here those of
-- finished deliveries.
CREATE OR REPLACE FUNCTION penstock_webhook_claim(p_claim text, p_busy jsonb, p_limit int, p_per_webhook int, p_claim_ms int, p_first_delay_ms bigint)
RETURNS TABLE (id text, org_id text, webhook_id text, event jsonb, url text, custom_headers jsonb, secret bytea, next_secret bytea,
  rotating boolean, places int, format text)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
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
      COALESCE(w.rotates_at > v_now, false), c.places, w.format
    FROM claimed c JOIN webhooks w ON w.id = c.webhook_id JOIN webhook_events e ON e.id = c.event_id;
END $$;
