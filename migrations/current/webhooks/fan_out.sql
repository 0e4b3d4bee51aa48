-- Creates the deliveries of an event in the event's own transaction. So exactly those webhooks get the event that were
-- enabled and listed its type at that moment, whatever happens to the bus. If an organisation has any webhook, its
-- events are stored with the webhooks that missed them. So `recover` can send them later, but not to a webhook that
-- listed the type only afterwards.
--
-- If the organisation's plan does not include webhooks (any more), its webhooks are treated as disabled. Earlier events
-- are still delivered, and so is the event of the change of plan itself.
--
-- FOR KEY SHARE waits for a webhook that is being deleted; it then gets no delivery. Without the lock the foreign key
-- would fail, and with it the whole transaction of the event: a chat's settlement, or a job's completion.
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
END $$;

CREATE OR REPLACE TRIGGER outbox_webhooks AFTER INSERT ON outbox FOR EACH ROW WHEN (NEW.topic = 'events')
  EXECUTE FUNCTION penstock_webhook_fan_out();
