import type { Sql, Statement } from '../database/database.types.js';
import type { AttemptResult } from './attempt.js';
import type { DatabaseClock } from './database-clock.js';
import type { SecretBox } from './secret-box.js';
import type { ClaimedDelivery, WebhookFormat } from './webhook.types.js';

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
  places?: number;
  format: WebhookFormat;
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
    places: row.places ?? 1,
    format: row.format,
  };
}

export interface FinishedAttempt extends AttemptResult {
  /** The delivery's id. */
  id: string;
  claim: string;
  kind: 'scheduled' | 'manual' | 'test';
}

const RECORD: Statement = {
  name: 'webhook_record',
  // A repetition is safe: a written attempt has lost its claim and is skipped.
  repeatable: true,
  text: 'SELECT penstock_webhook_record($1::jsonb, $2::bigint[], $3)',
};

/** Writes finished attempts in one statement. An attempt that has lost its claim changes nothing. */
export async function recordAttempts(
  sql: Sql,
  attempts: FinishedAttempt[],
  { delaysMs, clock }: { delaysMs: number[]; clock: DatabaseClock },
): Promise<void> {
  const batch = attempts.map(({ id, claim, kind, ok, attempt, endedAt }) => ({
    id,
    claim,
    kind,
    ok,
    attempt,
    endedAt: clock.at(endedAt),
  }));
  await sql.query(RECORD, [JSON.stringify(batch), delaysMs, DISABLE_AFTER]);
}

/** Returns one JSON text for all rows, with each webhook once: parsing it takes a third of the time of rows and columns. */
const CLAIM: Statement = {
  name: 'webhook_claim',
  // A repetition is safe: deliveries of a lost answer wait until their claim expires.
  repeatable: true,
  text: `WITH c AS MATERIALIZED (SELECT * FROM penstock_webhook_claim($1, $2::jsonb, $3, $4, $5, $6))
    SELECT json_build_object(
      'webhooks', (SELECT json_object_agg(w.webhook_id, json_build_object('orgId', w.org_id, 'url', w.url,
          'customHeaders', w.custom_headers, 'secret', encode(w.secret, 'hex'), 'nextSecret', encode(w.next_secret, 'hex'),
          'rotating', w.rotating, 'places', w.places, 'format', w.format))
        FROM (SELECT DISTINCT ON (c.webhook_id) c.* FROM c) w),
      'deliveries', json_agg(json_build_array(c.id, c.webhook_id, c.event)))::text AS claimed
    FROM c HAVING count(*) > 0`,
};

interface ClaimedText {
  webhooks: Record<
    string,
    Omit<ClaimedDelivery, 'id' | 'webhookId' | 'event' | 'secret' | 'nextSecret'> & {
      secret: string;
      nextSecret: string | null;
    }
  >;
  deliveries: [id: string, webhookId: string, event: Record<string, unknown>][];
}

function readClaimed(text: string): ClaimedDelivery[] {
  const { webhooks, deliveries } = JSON.parse(text) as ClaimedText;
  const known = new Map(
    Object.entries(webhooks).map(([id, webhook]) => {
      const { secret, nextSecret } = webhook;
      const sealed = Buffer.from(secret, 'hex');
      return [id, { webhook, sealed, next: nextSecret === null ? null : Buffer.from(nextSecret, 'hex') }];
    }),
  );
  return deliveries.map(([id, webhookId, event]) => {
    const { webhook, sealed, next } = known.get(webhookId)!;
    const { orgId, url, customHeaders, rotating, places, format } = webhook;
    return {
      id,
      orgId,
      webhookId,
      event,
      url,
      customHeaders,
      secret: sealed,
      nextSecret: next,
      rotating,
      places,
      format,
    };
  });
}

export interface ClaimRequest {
  claim: string;
  /** Deliveries in flight on this process by webhook. */
  busy: Record<string, number>;
  limit: number;
  perWebhook: number;
  claimMs: number;
  /** Delay of a delivery's first attempt. */
  firstDelayMs: number;
}

export async function claimDeliveries(sql: Sql, request: ClaimRequest): Promise<ClaimedDelivery[]> {
  const { claim, busy, limit, perWebhook, claimMs, firstDelayMs } = request;
  const values = [claim, JSON.stringify(busy), limit, perWebhook, claimMs, firstDelayMs];
  const [row] = await sql.query<{ claimed: string }>(CLAIM, values);
  return row === undefined ? [] : readClaimed(row.claimed);
}

/** The earliest unclaimed delivery of each enabled webhook. */
const NEXT_DUE = {
  name: 'webhook_next_due',
  text: `WITH RECURSIVE waiting (webhook_id) AS (
      (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.status = 'pending' ORDER BY d.webhook_id LIMIT 1)
      UNION ALL
      SELECT (SELECT d.webhook_id FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.webhook_id > t.webhook_id ORDER BY d.webhook_id LIMIT 1)
      FROM waiting t WHERE t.webhook_id IS NOT NULL
    )
    SELECT ceil(extract(epoch FROM min(n.at) - clock_timestamp()) * 1000)::float8 AS ms
    FROM waiting t JOIN webhooks w ON w.id = t.webhook_id CROSS JOIN LATERAL (
      SELECT d.next_attempt_at + CASE WHEN d.scheduled_attempts = 0 THEN $1 * interval '1 ms' ELSE interval '0' END AS at
      FROM webhook_deliveries d
      WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.next_attempt_at IS NOT NULL
        AND (d.claimed_until IS NULL OR d.claimed_until < clock_timestamp())
      ORDER BY d.next_attempt_at LIMIT 1
    ) n WHERE w.enabled`,
};

/** Milliseconds until the next delivery is due (0 or less: now), or null if none waits. */
export async function nextDueMs(sql: Sql, firstDelayMs: number): Promise<number | null> {
  const [row] = await sql.query<{ ms: number | null }>(NEXT_DUE, [firstDelayMs]);
  return row?.ms ?? null;
}

/** Disables webhooks with ten failures whose last attempt was never written, because its process was killed. */
const DISABLE_LEFT = `UPDATE webhooks w SET enabled = false, disabled_reason = $1::int || ' consecutive failed attempts'
  WHERE w.enabled AND w.consecutive_failures >= $1::int AND NOT EXISTS (
    SELECT 1 FROM webhook_deliveries d
    WHERE d.webhook_id = w.id AND d.claim IS NOT NULL AND d.claimed_until >= clock_timestamp())`;

/** Fails the deliveries of webhooks disabled for three days; deletes old events with their traces and deliveries. */
export async function sweepDeliveries(sql: Sql, retentionDays: number): Promise<void> {
  await sql.query(DISABLE_LEFT, [DISABLE_AFTER]);
  // A test delivery whose process was killed is not sent again.
  await sql.query(`UPDATE webhook_deliveries d SET status = 'failed', claim = NULL, claimed_until = NULL
    WHERE d.status = 'pending' AND d.event_type = 'webhook.test' AND d.created_at < clock_timestamp() - interval '2 minutes'`);
  await sql.query(`UPDATE webhook_deliveries d SET status = 'failed', next_attempt_at = NULL FROM webhooks w
    WHERE w.id = d.webhook_id AND NOT w.enabled AND d.status = 'pending' AND d.created_at < clock_timestamp() - interval '3 days'`);
  await sql.query(`DELETE FROM event_traces t WHERE t.created_at < clock_timestamp() - interval '3 days'`);
  await sql.query(
    `DELETE FROM webhook_events e WHERE e.created_at < clock_timestamp() - $1 * interval '1 day'
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id AND d.status = 'pending')`,
    [retentionDays],
  );
}

/** Encrypts stored secrets with the current signing secret, so that the previous one can be removed (decisions 9). */
export async function resealSecrets(
  sql: Sql,
  secrets: Pick<SecretBox, 'reseal' | 'changing'>,
): Promise<number> {
  if (!secrets.changing) return 0;
  const rows = await sql.query<{ id: string; secret: Buffer; next_secret: Buffer | null }>(
    'SELECT id, secret, next_secret FROM webhooks ORDER BY id',
  );
  let changed = 0;
  for (const { id, secret, next_secret: next } of rows) {
    const [newSecret, newNext] = [secrets.reseal(secret), next && secrets.reseal(next)];
    if (newSecret === null && newNext === null) continue;
    // If a rotation came in between, the row is left for the next time.
    await sql.query(
      `UPDATE webhooks SET secret = $3, next_secret = $5 WHERE id = $1 AND secret = $2 AND next_secret IS NOT DISTINCT FROM $4`,
      [id, secret, newSecret ?? secret, next, newNext ?? next],
    );
    changed += 1;
  }
  return changed;
}
