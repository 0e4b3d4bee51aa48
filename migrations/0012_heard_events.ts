import { Migration } from '@mikro-orm/migrations';

/** True once a process with Kafka has started here, for good: whoever runs without it then still writes every event for those with it. */
const KAFKA = `ALTER TABLE installation ADD COLUMN kafka boolean NOT NULL DEFAULT false`;

/**
 * Webhook events {at, org, type, data, unheard} of a batch: each is written where its settlement (item `at`, from 1) was applied now.
 * `unheard`: the process publishes to nobody but webhooks, so that the row is needed only where the organisation has any (enabled or not:
 * `recover` sends what a disabled one missed), or where another process may carry it to Kafka. Every chat call has such an event; a row
 * costs two writes, a wake-up and a claim.
 */
const SETTLE_EVENTS = `
CREATE OR REPLACE FUNCTION penstock_settle_events(p_events jsonb, p_answer text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM penstock_emit('events', e.org, penstock_event(e.type, e.org, e.data))
    FROM jsonb_to_recordset(p_events) AS e (at int, org text, type text, data jsonb, unheard boolean)
    WHERE (e.unheard IS NOT TRUE OR EXISTS (SELECT 1 FROM webhooks w WHERE w.org_id = e.org)
        OR (SELECT i.kafka FROM installation i))
      AND p_answer::jsonb #> ARRAY['items', (e.at - 1)::text, '0'] = '1';
END $$;`;

/** A chat call's event is written where somebody can hear it. */
export class Migration0012 extends Migration {
  override up(): void {
    this.addSql(KAFKA);
    this.addSql(SETTLE_EVENTS);
  }
}
