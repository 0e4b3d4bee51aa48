/**
 * Statements on leases, buckets, windows and the ledger. Admission and settlement have their own files (admission.queries.ts,
 * settlement.queries.ts).
 */

export const HEARTBEAT = {
  name: 'penstock_heartbeat',
  text: 'SELECT penstock_heartbeat($1, $2, $3)',
  repeatable: true,
} as const;

export const SWEEP = {
  name: 'penstock_sweep',
  text: 'SELECT penstock_sweep($1) AS released',
  repeatable: true,
} as const;

export const SETTLED = {
  name: 'penstock_settled',
  text: `UPDATE usage_ledger SET given = true WHERE operation_id = $1 AND state = 'settled' RETURNING 1`,
};

export const QUOTA = { name: 'penstock_quota', text: 'SELECT penstock_quota($1, $2::jsonb) AS answer' };

export const TOP_UP = {
  name: 'penstock_top_up',
  text: 'SELECT penstock_top_up($1, $2::jsonb, $3, $4, $5) AS answer',
};

export const SET_USED = {
  name: 'penstock_set_used',
  text: 'SELECT penstock_set_used($1, $2::jsonb, $3, $4, $5) AS answer',
};

/** Reads a window's log (see `rate_windows`): the slots that are free now, and when the next one becomes free. */
export const PEEK = {
  name: 'penstock_rate_peek',
  text: `SELECT n.us AS now, e.expired * w.grain + CASE WHEN e.expired = cardinality(w.stamps) THEN 0 ELSE w.grain - w.fill END AS slots,
      w.stamps[e.expired + 1] + $3 AS gains_at
    FROM (SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS us) n
    LEFT JOIN rate_windows w ON w.key_id = $1 AND w.name = $2
    LEFT JOIN LATERAL (SELECT width_bucket(n.us - $3::bigint, w.stamps) AS expired) e ON true`,
};

export const RETURN_SLOTS = {
  name: 'penstock_window_return',
  text: 'SELECT penstock_window_return($1, name, $3) FROM unnest($2::text[]) name',
};

export const TAKE_BACK = { name: 'penstock_take_back', text: 'SELECT penstock_take_back($1)' };

/** Newest first, by time and then id; the cursor names the last row seen. Adjustments that are not settled tell of an operation's own row. */
export const LIST_USAGE = {
  name: 'penstock_usage_records',
  text: `
    SELECT operation_id, kind, state, request_id, job_id, run_id, key_id, model, service_client, client_name, user_agent,
      created_at, settled_at, (extract(epoch FROM created_at) * 1000000)::bigint::text AS created_us,
      to_json(CASE state WHEN 'reserved' THEN reserved WHEN 'settled' THEN charged END) AS amounts, to_json(granted) AS granted
    FROM usage_ledger
    WHERE org_id = $1 AND created_at >= $2::timestamptz AND kind <> 'period' AND (kind <> 'adjustment' OR state = 'settled')
      AND created_at <= 'epoch'::timestamptz + $3::bigint * interval '1 microsecond'
      AND (created_at, operation_id) < ('epoch'::timestamptz + $3::bigint * interval '1 microsecond', $4)
    ORDER BY created_at DESC, operation_id DESC LIMIT $5`,
};
