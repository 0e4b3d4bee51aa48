import type { Sql } from '../database/database.types.js';
import type { AttemptResult } from './attempt.js';
import type { ClaimedDelivery } from './webhook.types.js';

/** Failed attempts in a row that disable a webhook (contract 6.1). */
const DISABLE_AFTER = 10;

export interface ClaimedRow {
  id: string;
  org_id: string;
  webhook_id: string;
  event: Record<string, unknown>;
  url: string;
  custom_headers: Record<string, string>;
  secret: Buffer;
  next_secret: Buffer | null;
  rotating: boolean;
}

export function toClaimed(row: ClaimedRow): ClaimedDelivery {
  return {
    id: row.id,
    orgId: row.org_id,
    webhookId: row.webhook_id,
    event: row.event,
    url: row.url,
    customHeaders: row.custom_headers,
    secret: row.secret,
    nextSecret: row.next_secret,
    rotating: row.rotating,
  };
}

export interface FinishedAttempt extends AttemptResult {
  /** The delivery's id. */
  id: string;
  claim: string;
  kind: 'scheduled' | 'manual' | 'test';
}

const RECORD = {
  name: 'webhook_record',
  text: 'SELECT penstock_webhook_record($1::jsonb, $2::bigint[], $3)',
};

/** Writes finished attempts in one statement; ones whose claim was lost change nothing. */
export async function recordAttempts(
  sql: Sql,
  delaysMs: number[],
  attempts: FinishedAttempt[],
): Promise<void> {
  await sql.query(RECORD, [JSON.stringify(attempts), delaysMs, DISABLE_AFTER]);
}

const CLAIM = {
  name: 'webhook_claim',
  text: 'SELECT * FROM penstock_webhook_claim($1, $2::jsonb, $3, $4, $5)',
};

export interface ClaimRequest {
  claim: string;
  /** Deliveries in flight on this process by webhook. */
  busy: Record<string, number>;
  limit: number;
  perWebhook: number;
  claimMs: number;
}

export async function claimDeliveries(sql: Sql, request: ClaimRequest): Promise<ClaimedDelivery[]> {
  const { claim, busy, limit, perWebhook, claimMs } = request;
  const rows = await sql.query<ClaimedRow>(CLAIM, [claim, JSON.stringify(busy), limit, perWebhook, claimMs]);
  return rows.map(toClaimed);
}

const NEXT_DUE = {
  name: 'webhook_next_due',
  text: `SELECT ceil(extract(epoch FROM min(GREATEST(n.next_attempt_at, COALESCE(n.claimed_until, n.next_attempt_at))) - clock_timestamp()) * 1000)::float8 AS ms
    FROM webhooks w CROSS JOIN LATERAL (
      SELECT d.next_attempt_at, d.claimed_until FROM webhook_deliveries d
      WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.next_attempt_at IS NOT NULL
      ORDER BY d.next_attempt_at LIMIT 1
    ) n WHERE w.enabled`,
};

/** Milliseconds until the next delivery is due (0 or less: now), or null where none waits. */
export async function nextDueMs(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ ms: number | null }>(NEXT_DUE);
  return row?.ms ?? null;
}

/** A disabled webhook's deliveries fail after three days; old events and deliveries are forgotten. */
export async function sweepDeliveries(sql: Sql, retentionDays: number): Promise<void> {
  await sql.query(`UPDATE webhook_deliveries d SET status = 'failed', next_attempt_at = NULL FROM webhooks w
    WHERE w.id = d.webhook_id AND NOT w.enabled AND d.status = 'pending' AND d.created_at < clock_timestamp() - interval '3 days'`);
  await sql.query(
    `DELETE FROM webhook_events e WHERE e.created_at < clock_timestamp() - $1 * interval '1 day'
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id AND d.status = 'pending')`,
    [retentionDays],
  );
}
