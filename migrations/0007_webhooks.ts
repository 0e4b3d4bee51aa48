import { Migration } from '@mikro-orm/migrations';
import { CLAIM, FAN_OUT, RECORD, RECOVER } from './webhooks/functions.js';
import { tenancySql } from './tenancy.js';

const TABLES = `
CREATE TABLE webhooks (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name text NOT NULL,
  url text NOT NULL,
  events text[] NOT NULL,
  enabled boolean NOT NULL,
  custom_headers jsonb NOT NULL DEFAULT '{}',
  secret bytea NOT NULL,
  next_secret bytea,
  rotates_at timestamptz,
  consecutive_failures int NOT NULL DEFAULT 0,
  disabled_reason text,
  last_delivery_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhooks_org ON webhooks (org_id, id);

CREATE TABLE webhook_events (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  type text NOT NULL,
  event jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX webhook_events_org ON webhook_events (org_id, created_at);
CREATE INDEX webhook_events_age ON webhook_events (created_at);

CREATE TABLE webhook_deliveries (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  webhook_id text NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event_id text NOT NULL REFERENCES webhook_events (id) ON DELETE CASCADE,
  event_type text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'succeeded', 'failed')),
  attempts jsonb NOT NULL DEFAULT '[]',
  scheduled_attempts int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  claimed_until timestamptz,
  claim text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (webhook_id, event_id)
) WITH (fillfactor = 80);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (event_id);
`;

/** Webhooks: registrations, the events that they may get, deliveries with their attempts (contract 2.15, 3.4, 6.1). */
export class Migration0007 extends Migration {
  override up(): void {
    this.addSql(TABLES);
    this.addSql(tenancySql('webhooks', { system: true }));
    this.addSql(tenancySql('webhook_events', { system: true, tenant: 'read' }));
    this.addSql(tenancySql('webhook_deliveries', { system: true, tenant: 'read' }));
    for (const sql of [FAN_OUT, CLAIM, RECORD, RECOVER]) this.addSql(sql);
  }
}
