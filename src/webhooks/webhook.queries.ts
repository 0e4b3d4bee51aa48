import type { Delivery, Webhook } from './webhook.types.js';

/** Columns of a registration without its secrets. */
export const WEBHOOK_COLUMNS = `id, name, url, events, enabled, custom_headers, consecutive_failures, disabled_reason, last_delivery_at,
  created_at, updated_at`;

export interface WebhookRow {
  id: string;
  name: string;
  url: string;
  events: string[];
  enabled: boolean;
  custom_headers: Record<string, string>;
  consecutive_failures: number;
  disabled_reason: string | null;
  last_delivery_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export function toWebhook(row: WebhookRow, secret: string | null = null): Webhook {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: row.events,
    enabled: row.enabled,
    customHeaders: row.custom_headers,
    consecutiveFailures: row.consecutive_failures,
    disabledReason: row.disabled_reason,
    lastDeliveryAt: row.last_delivery_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    secret,
  };
}

export const DELIVERY_COLUMNS =
  'id, webhook_id, event_id, event_type, status, attempts, next_attempt_at, created_at';

export interface DeliveryRow {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  status: Delivery['status'];
  attempts: Delivery['attempts'];
  next_attempt_at: Date | null;
  created_at: Date;
}

export function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    eventType: row.event_type,
    status: row.status,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at,
    createdAt: row.created_at,
  };
}

export const INSERT = `INSERT INTO webhooks (id, org_id, name, url, events, enabled, custom_headers, secret)
  VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8) RETURNING ${WEBHOOK_COLUMNS}`;

/** Null leaves a column as it is. Enabling clears the failure count (decisions 6), and no attempt counts that ended before. */
export const UPDATE = `UPDATE webhooks SET
    name = COALESCE($3, name), url = COALESCE($4, url), events = COALESCE($5, events), enabled = COALESCE($6, enabled),
    custom_headers = COALESCE($7::jsonb, custom_headers),
    consecutive_failures = CASE WHEN $6 THEN 0 ELSE consecutive_failures END,
    failure_times = CASE WHEN $6 THEN '{}' ELSE failure_times END,
    failures_after = CASE WHEN $6 THEN clock_timestamp() ELSE failures_after END,
    disabled_reason = CASE WHEN $6 THEN NULL ELSE disabled_reason END,
    updated_at = CASE WHEN $8 THEN clock_timestamp() ELSE updated_at END
  WHERE org_id = $1 AND id = $2 RETURNING ${WEBHOOK_COLUMNS}`;

/** The new secret takes over at the overlap's end; one whose overlap is over already has done so. */
export const ROTATE = `UPDATE webhooks SET
    secret = CASE WHEN $4 = 0 THEN $3 WHEN rotates_at <= clock_timestamp() THEN next_secret ELSE secret END,
    next_secret = CASE WHEN $4 = 0 THEN NULL ELSE $3 END,
    rotates_at = CASE WHEN $4 = 0 THEN NULL ELSE clock_timestamp() + $4 * interval '1 second' END,
    updated_at = clock_timestamp()
  WHERE org_id = $1 AND id = $2 AND (rotates_at IS NULL OR rotates_at <= clock_timestamp())
  RETURNING ${WEBHOOK_COLUMNS}`;

/** Takes one delivery for an attempt now, unless one is under way. */
export const CLAIM_ONE = `UPDATE webhook_deliveries d SET claim = $4, claimed_until = clock_timestamp() + interval '60 seconds'
  FROM webhooks w, webhook_events e
  WHERE d.id = $3 AND d.webhook_id = $2 AND d.org_id = $1 AND w.id = d.webhook_id AND e.id = d.event_id
    AND (d.claimed_until IS NULL OR d.claimed_until < clock_timestamp())
  RETURNING d.id, d.org_id, d.webhook_id, e.event, w.url, w.custom_headers, w.secret, w.next_secret,
    COALESCE(w.rotates_at > clock_timestamp(), false) AS rotating`;

/** Attempts of a webhook that were claimed before a time and are not recorded yet; a claim holds for 60 seconds. */
export const IN_FLIGHT = `SELECT 1 FROM webhook_deliveries d
  WHERE d.webhook_id = $1 AND d.claim IS NOT NULL AND d.claimed_until > clock_timestamp() AND d.claimed_until <= $2::timestamptz + interval '60 seconds'
  LIMIT 1`;

/** Codes of the plans that have webhooks; events of organisations with any other become no deliveries. */
export const SET_PLANS =
  'UPDATE installation SET webhook_plans = $1::text[] WHERE webhook_plans IS DISTINCT FROM $1::text[]';
