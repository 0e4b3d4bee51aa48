/** Statements that decide between simultaneous calls, by what they find when they run. All else goes through the entities (webhook.entity.ts). */

/** Serialises creations of one organisation, so that the plan's limit holds. */
export const LOCK_CREATIONS = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 7307))';

/** Begins a rotation: the new secret becomes the only one at the overlap's end. An earlier rotation whose overlap is over is completed first. */
export const ROTATE = `UPDATE webhooks SET
    secret = CASE WHEN $4 = 0 THEN $3 WHEN rotates_at <= clock_timestamp() THEN next_secret ELSE secret END,
    next_secret = CASE WHEN $4 = 0 THEN NULL ELSE $3 END,
    rotates_at = CASE WHEN $4 = 0 THEN NULL ELSE clock_timestamp() + $4 * interval '1 second' END,
    updated_at = clock_timestamp()
  WHERE org_id = $1 AND id = $2 AND (rotates_at IS NULL OR rotates_at <= clock_timestamp())
  RETURNING id`;

/** Inserts a test delivery without a due time, so that workers do not claim it. Inserts nothing if the webhook is being deleted. */
export const INSERT_TEST = `WITH e AS (INSERT INTO webhook_events (id, org_id, type, event) VALUES ($3, $1, 'webhook.test', $4::jsonb) RETURNING id)
  INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_id, event_type)
    SELECT $5, $1, w.id, $3, 'webhook.test' FROM webhooks w, e WHERE w.org_id = $1 AND w.id = $2
      FOR KEY SHARE OF w RETURNING id`;

/** Claims one delivery for an attempt now, unless an attempt is running. */
export const CLAIM_ONE = `UPDATE webhook_deliveries d SET claim = $4, claimed_until = clock_timestamp() + interval '60 seconds'
  FROM webhooks w, webhook_events e
  WHERE d.id = $3 AND d.webhook_id = $2 AND d.org_id = $1 AND w.id = d.webhook_id AND e.id = d.event_id
    AND (d.claimed_until IS NULL OR d.claimed_until < clock_timestamp())
  RETURNING d.id, d.org_id, d.webhook_id, e.event, w.url, w.custom_headers, w.secret, w.next_secret,
    COALESCE(w.rotates_at > clock_timestamp(), false) AS rotating, w.format`;

/** Attempts of a webhook that were claimed before a time and are not recorded yet; a claim holds for 60 seconds. */
export const IN_FLIGHT = `SELECT 1 FROM webhook_deliveries d
  WHERE d.webhook_id = $1 AND d.claim IS NOT NULL AND d.claimed_until > clock_timestamp() AND d.claimed_until <= $2::timestamptz + interval '60 seconds'
  LIMIT 1`;

export const NOW = 'SELECT clock_timestamp() AS at';

export const RECOVER =
  'SELECT penstock_webhook_recover($1, $2, $3, COALESCE($4, clock_timestamp()))::int AS count';

/** Stores the codes of the plans with webhooks. Events of organisations with another plan create no deliveries. */
export const SET_PLANS =
  'UPDATE installation SET webhook_plans = $1::text[] WHERE webhook_plans IS DISTINCT FROM $1::text[]';

/** The database's time in milliseconds since 1970; the actions of several processes are ordered by it. */
export const CLOCK = {
  name: 'webhook_clock',
  text: 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms',
};

/** What deliveries carry: one statement for a page of them. */
export const SENT = `SELECT d.id, d.event_id AS "eventId", d.event_type AS "eventType", e.event, w.format,
    ARRAY(SELECT jsonb_object_keys(w.custom_headers)) AS names, d.attempts -> -1 ->> 'startedAt' AS "attemptedAt"
  FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id JOIN webhooks w ON w.id = d.webhook_id
  WHERE d.org_id = $1 AND d.id = ANY ($2::text[])`;

/** How deliveries of webhooks ended, of the newest 10,000 of each since an id, which begins with its time. */
export const OUTCOMES = `SELECT w.id, count(*) FILTER (WHERE d.status = 'succeeded')::int AS succeeded,
    count(*) FILTER (WHERE d.status = 'failed')::int AS failed, count(*) FILTER (WHERE d.status = 'pending')::int AS pending
  FROM unnest($2::text[]) w (id) CROSS JOIN LATERAL (
    SELECT o.status FROM webhook_deliveries o WHERE o.org_id = $1 AND o.webhook_id = w.id AND o.id >= $3 ORDER BY o.id DESC LIMIT 10000) d
  GROUP BY w.id`;
