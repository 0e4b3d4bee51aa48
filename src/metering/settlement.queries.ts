/** The statements that end operations, with their parameters. */
import type { Ending } from './settlement-batch.js';
import { bigint, lists, text } from './sql-rows.js';

/**
 * Settings of the settlements' connection. Query plans are made once, whatever the tables contain at that time, and must use indexes; grouping
 * must sort, so that every process locks balances in the same order. Commits do not wait for the disk: {@link FLUSH} follows where that matters.
 */
export const SETTLEMENT_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_hashagg: 'off',
  synchronous_commit: 'off',
};

/** The total of a balance. Near its end an event is due; `penstock_balance_events` defines when. */
const ROOM = 'b.allowance[1] + b.topup_start[1] + b.topup_added[1]';
const NO_EVENT_DUE = `(b.allowance[1] = -1 OR b.depleted_fired[1]
        OR (${ROOM} - b.used[1] - s.c) * 10 >= ${ROOM} OR b.low_fired[1] AND ${ROOM} > b.used[1] + s.c)`;

export interface Charge {
  credits: number;
  chat_tokens: number;
}

export interface Row {
  item: Ending;
  /** Null: released. */
  charge: Charge | null;
}

/** Operations with their charge of credits and `chat_tokens`; null to release. */
export const FITTING_ROWS = lists<Row>({
  op: text(({ item }) => item.operationId),
  c: bigint(({ charge }) => charge && charge.credits),
  t: bigint(({ charge }) => charge && charge.chat_tokens),
});

/**
 * The fast path, for almost all batches: ends token reservations of the current period that are charged no more than they reserved, return
 * nothing that an earlier plan covered, and bring no balance to an event. Any other operation fails the whole batch (SQLSTATE PM001) without a
 * change, and `penstock_settle_batch` does it. Parameters: {@link FITTING_ROWS}, sorted by their ids, and the events as JSON (settlement_event).
 * Answers balances by organisation.
 */
export const FITTING = {
  name: 'penstock_settle_fitting',
  text: `WITH l AS (
    UPDATE usage_ledger l SET state = CASE WHEN v.c IS NULL THEN 'released' ELSE 'settled' END,
        charged = CASE WHEN v.c IS NOT NULL THEN penstock_token_vector(v.c, v.t) END, settled_at = clock_timestamp()
      FROM ${FITTING_ROWS.from('v')}
      WHERE l.operation_id = v.op AND l.state = 'reserved' AND COALESCE(v.c, 0) <= l.reserved[1] AND 0 = ALL (l.reserved[3:])
      RETURNING l.org_id, l.period_start, COALESCE(v.c, 0) AS c, COALESCE(v.t, 0) AS t, l.reserved[1] AS rc, l.reserved[2] AS rt),
  s AS (
    SELECT l.org_id, l.period_start, count(*) AS n, sum(l.c)::bigint AS c, sum(l.t)::bigint AS t, sum(l.rc)::bigint AS rc, sum(l.rt)::bigint AS rt
      FROM l GROUP BY l.org_id, l.period_start),
  b AS (
    UPDATE balances b SET used[1] = b.used[1] + s.c, used[2] = b.used[2] + s.t, reserved[1] = b.reserved[1] - s.rc, reserved[2] = b.reserved[2] - s.rt
      FROM s WHERE b.org_id = s.org_id AND b.period_start = s.period_start AND NOT b.superseded
        AND b.period_end > clock_timestamp() AND b.used[1] + s.c + b.reserved[1] - s.rc >= b.covered[1] AND ${NO_EVENT_DUE}
      RETURNING b.org_id, s.n, penstock_balance_json(b) AS shown)
  SELECT CASE WHEN sum(b.n) = cardinality($1::text[]) THEN json_object_agg(b.org_id, b.shown)::text ELSE penstock_refuse() END
    FROM b WHERE (
      SELECT count(penstock_emit('events', e.org, penstock_event(e.type, e.org, e.data), e.trace))
        FROM penstock_heard_events($4::json) e) >= 0`,
};

/** Waits until all earlier commits are on the disk. A separate transaction, so that no balance is locked during the flush. */
export const FLUSH = {
  name: 'penstock_flush',
  text: `SELECT set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, 'penstock', '')`,
};
export const REFUSED = 'PM001';

export const EACH = {
  name: 'penstock_settle_batch',
  text: 'CALL penstock_settle_batch(p_endings => $1, p_events => $2)',
};
