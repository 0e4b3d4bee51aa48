-- Sends again the events between two times that failed, or that the webhook missed while it was disabled, if it listed
-- their type then and still does. Events that were delivered or wait for their next attempt are left alone. A running
-- manual attempt is stored first. FOR KEY SHARE: see penstock_webhook_fan_out.
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
      AND w.id = ANY (e.missed_by)
    FOR KEY SHARE OF w
    ON CONFLICT (webhook_id, event_id) DO NOTHING;
  GET DIAGNOSTICS missed = ROW_COUNT;
  PERFORM pg_notify('penstock_webhook', '');
  RETURN failed + missed;
END $$;
