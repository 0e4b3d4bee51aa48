-- An event becomes deliveries in the transaction that it happens in, so that exactly the webhooks get it that were
-- enabled and listed its type at that moment, whatever the bus does. Events are kept for organisations that have any
-- webhook, with who misses them, so that `recover` can send them to those, and to no webhook that began to list the
-- type later.
--
-- An organisation whose plan has no webhooks (any more) gets no deliveries of what happens meanwhile: its registrations
-- stand as disabled ones do. What happened before is still delivered, and so is the change of plan itself.
--
-- A webhook whose deletion is under way is waited for (FOR KEY SHARE), and gets nothing once it is gone. Without the
-- lock the deletion is only noticed by the foreign key, which fails the whole transaction that the event belongs to: a
-- chat's settlement, a job's completion.
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
