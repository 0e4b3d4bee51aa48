/**
 * As before, but a webhook whose deletion is under way is waited for, and gets nothing once it is gone. Without the lock the deletion was only
 * noticed by the foreign key, which failed the whole transaction that the event belongs to: a chat's settlement, a job's completion.
 */
const FAN_OUT = `
CREATE OR REPLACE FUNCTION penstock_webhook_fan_out() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_type text := NEW.event ->> 'type';
  v_listing text[];
  v_getting text[];
BEGIN
  IF NOT EXISTS (SELECT 1 FROM webhooks WHERE org_id = NEW.key) THEN
    RETURN NULL;
  END IF;
  SELECT array_agg(w.id), array_agg(w.id) FILTER (WHERE w.enabled) INTO v_listing, v_getting
    FROM webhooks w WHERE w.org_id = NEW.key AND v_type = ANY (w.events);
  IF v_getting IS NOT NULL AND v_type NOT LIKE 'subscription.%' AND NOT EXISTS (
    SELECT 1 FROM installation i, organizations o
    WHERE o.id = NEW.key AND (i.webhook_plans IS NULL OR i.webhook_plans @> ARRAY[
      CASE WHEN o.subscription_status = 'cancelled' AND o.subscription_ends_at <= clock_timestamp() THEN 'free'
        ELSE o.plan_code END]))
  THEN
    v_getting := NULL;
  END IF;
  INSERT INTO webhook_events (id, org_id, type, event, missed_by)
    VALUES (NEW.event ->> 'id', NEW.key, v_type, NEW.event,
      ARRAY(SELECT unnest(v_listing) EXCEPT SELECT unnest(v_getting))) ON CONFLICT DO NOTHING;
  IF v_getting IS NULL THEN
    RETURN NULL;
  END IF;
  INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_id, event_type, next_attempt_at)
    SELECT 'dlv' || substr(penstock_event_id(), 4), w.org_id, w.id, NEW.event ->> 'id', v_type, clock_timestamp()
    FROM webhooks w WHERE w.id = ANY (v_getting)
    FOR KEY SHARE OF w
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM pg_notify('penstock_webhook', '');
  END IF;
  RETURN NULL;
END $$;`;

/** As before, with the same lock. */
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
      AND (e.missed_by IS NULL OR w.id = ANY (e.missed_by))
    FOR KEY SHARE OF w
    ON CONFLICT (webhook_id, event_id) DO NOTHING;
  GET DIAGNOSTICS missed = ROW_COUNT;
  PERFORM pg_notify('penstock_webhook', '');
  RETURN failed + missed;
END $$;`;

export const GONE = [FAN_OUT, RECOVER];
