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

export const MAKE_MONTHS = 'SELECT penstock_ledger_months()';

/** Drops the oldest month after its retention time (migrations/current/metering lists the exceptions). */
export const DROP_MONTH = 'SELECT penstock_ledger_drop($1) AS answer';
