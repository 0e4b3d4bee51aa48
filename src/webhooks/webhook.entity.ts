import { defineEntity, p } from '@mikro-orm/postgresql';
import type { InferEntity } from '@mikro-orm/postgresql';
import { tenantFilter } from '../database/index.js';
import type { Delivery, DeliveryAttempt, Webhook, WebhookFormat } from './webhook.types.js';

/** A registration (contract 2.15). Its secrets are encrypted (secret-box.ts) and loaded only on demand. */
export const WebhookEntity = defineEntity({
  name: 'Webhook',
  tableName: 'webhooks',
  properties: {
    id: p.text().primary(),
    orgId: p.text(),
    name: p.text(),
    url: p.text(),
    events: p.array(),
    enabled: p.boolean(),
    format: p.text().$type<WebhookFormat>().default('json'),
    customHeaders: p.json<Record<string, string>>().defaultRaw("'{}'"),
    secret: p.blob().lazy(),
    nextSecret: p.blob().nullable().lazy(),
    rotatesAt: p.datetime().nullable(),
    consecutiveFailures: p.integer().default(0),
    /** The end times of the failures that count. */
    failureTimes: p.array().columnType('timestamptz[]').defaultRaw("'{}'").lazy(),
    failuresAfter: p.datetime().nullable(),
    disabledReason: p.text().nullable(),
    lastDeliveryAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  },
  filters: tenantFilter(),
});
type WebhookRow = InferEntity<typeof WebhookEntity>;

/** The delivery of one event to one webhook. Only statements write it (delivery.queries.ts). */
export const DeliveryEntity = defineEntity({
  name: 'Delivery',
  tableName: 'webhook_deliveries',
  properties: {
    id: p.text().primary(),
    orgId: p.text(),
    webhookId: p.text(),
    eventId: p.text(),
    eventType: p.text(),
    status: p.text().$type<Delivery['status']>(),
    attempts: p.json<DeliveryAttempt[]>(),
    nextAttemptAt: p.datetime().nullable(),
    createdAt: p.datetime(),
  },
  filters: tenantFilter(),
});
type DeliveryRow = InferEntity<typeof DeliveryEntity>;

export const webhookEntities = [WebhookEntity, DeliveryEntity];

/** @param secret only in the answer to create and rotate */
export function toWebhook(row: WebhookRow, secret: string | null = null): Webhook {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: row.events,
    enabled: row.enabled,
    format: row.format,
    customHeaders: row.customHeaders,
    consecutiveFailures: row.consecutiveFailures,
    disabledReason: row.disabledReason ?? null,
    lastDeliveryAt: row.lastDeliveryAt ?? null,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    secret,
  };
}

export function toDelivery(row: DeliveryRow): Delivery {
  const { id, webhookId, eventId, eventType, status, attempts, nextAttemptAt, createdAt } = row;
  return {
    id,
    webhookId,
    eventId,
    eventType,
    status,
    attempts,
    nextAttemptAt: nextAttemptAt ?? null,
    createdAt,
  };
}
