/** Codes of the plans that have webhooks, as the processes' PLANS_FILE says; null: no process of this version has started yet. */
const WEBHOOK_PLANS = `ALTER TABLE installation ADD COLUMN webhook_plans text[]`;

/**
 * As before, but an organisation whose plan has no webhooks (any more) gets no deliveries of what happens meanwhile: its registrations
 * stand as disabled ones do, with their events kept for `recover`. What happened before is still delivered, and so is the change of plan
 * itself.
 */
const FAN_OUT = `
CREATE OR REPLACE FUNCTION penstock_webhook_fan_out() RETURNS trigger LANGUAGE plpgsql AS $$
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
      AND (NEW.event ->> 'type' LIKE 'subscription.%' OR EXISTS (
        SELECT 1 FROM installation i, organizations o
        WHERE o.id = NEW.key AND (i.webhook_plans IS NULL OR i.webhook_plans @> ARRAY[
          CASE WHEN o.subscription_status = 'cancelled' AND o.subscription_ends_at <= clock_timestamp() THEN 'free'
            ELSE o.plan_code END])))
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM pg_notify('penstock_webhook', '');
  END IF;
  RETURN NULL;
END $$;`;

export const WEBHOOK_RIGHTS = [WEBHOOK_PLANS, FAN_OUT];
