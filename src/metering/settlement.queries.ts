/** The statements that end operations. */

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

/** Adds the operations' amounts to the budgets' counters. It runs after all balances are written (`u`), because counters are locked after balances. Returns true. */
const COUNTED = `COALESCE((
      SELECT penstock_budget_settle(array_agg(ROW(g.counters, g.held, g.held_nano, g.spent, g.spent_nano)::budget_ending)) FROM (
        SELECT l.counters, ARRAY[sum(l.rc), sum(l.rt)]::bigint[] AS held, sum(l.reserved_nano)::bigint AS held_nano,
            ARRAY[sum(l.c), sum(l.t)]::bigint[] AS spent, sum((l.ending).cost_nano)::bigint AS spent_nano
          FROM l WHERE l.counters IS NOT NULL AND (SELECT count(*) FROM u) > 0 GROUP BY l.counters) g HAVING count(*) > 0), 0) >= 0`;

/**
 * The fast path, for almost all batches: ends token reservations of the current period that are charged no more than they reserved, return
 * nothing that an earlier plan covered, and bring no balance to an event. Any other operation fails the whole batch (SQLSTATE PM001) without a
 * change, and `penstock_settle_batch` does it. The ledger's rows are locked before the balance, which gives them their numbers. Parameters:
 * endings (settlement_ending), sorted by their ids, and the events as JSON (settlement_event). Answers balances by organisation.
 */
export const FITTING = {
  name: 'penstock_settle_fitting',
  text: `WITH l AS (
    SELECT v::settlement_ending AS ending, l.org_id, l.period_start, COALESCE(v.amounts[1], 0) AS c,
        least(COALESCE(v.amounts[2], 0), v.amounts[1] * 1000) AS t, l.reserved[1] AS rc, l.reserved[2] AS rt, l.counters, l.reserved_nano
      FROM unnest($1::settlement_ending[]) v JOIN usage_ledger l ON l.operation_id = v.operation_id
      WHERE l.state = 'reserved' AND COALESCE(v.amounts[1], 0) <= l.reserved[1] AND 0 = ALL (l.reserved[3:])
      FOR UPDATE OF l),
  s AS (
    SELECT l.org_id, l.period_start, array_agg(l.ending) AS endings, count(*) AS n, sum(l.c)::bigint AS c, COALESCE(sum(l.t), 0)::bigint AS t,
        sum(l.rc)::bigint AS rc, sum(l.rt)::bigint AS rt
      FROM l GROUP BY l.org_id, l.period_start),
  b AS (
    UPDATE balances b SET used[1] = b.used[1] + s.c, used[2] = b.used[2] + s.t, reserved[1] = b.reserved[1] - s.rc, reserved[2] = b.reserved[2] - s.rt,
        sequence = b.sequence + s.n
      FROM s WHERE b.org_id = s.org_id AND b.period_start = s.period_start AND NOT b.superseded
        AND b.period_end > clock_timestamp() AND b.used[1] + s.c + b.reserved[1] - s.rc >= b.covered[1] AND ${NO_EVENT_DUE}
      RETURNING b.org_id, s.endings, b.sequence - s.n AS before, penstock_balance_json(b) AS shown),
  u AS (
    UPDATE usage_ledger u SET state = CASE WHEN e.amounts IS NULL THEN 'released' ELSE 'settled' END,
        charged = CASE WHEN e.amounts IS NOT NULL THEN penstock_token_vector(e.amounts[1], least(e.amounts[2], e.amounts[1] * 1000)) END,
        settled_at = clock_timestamp(), sequence = b.before + e.ordinality, latency_ms = penstock_ms_since(u.created_at),
        status = COALESCE(e.status, CASE WHEN e.amounts IS NULL THEN 'cancelled' ELSE 'succeeded' END), error_code = e.error_code,
        answered_model = e.answered_model, provider = e.provider, upstream_id = e.upstream_id, first_token_ms = e.first_token_ms,
        tokens = e.tokens, cost_nano = e.cost_nano, cost_version = e.cost_version
      FROM b CROSS JOIN LATERAL unnest(b.endings) WITH ORDINALITY e WHERE u.operation_id = e.operation_id AND u.state = 'reserved'
      RETURNING 1)
  SELECT CASE WHEN (SELECT count(*) FROM u) = cardinality($1) THEN json_object_agg(b.org_id, b.shown)::text ELSE penstock_refuse() END
    FROM b WHERE (
      SELECT count(penstock_emit('events', e.org, penstock_event(e.type, e.org, e.data), e.trace))
        FROM penstock_heard_events($2::json) e) >= 0
    AND ${COUNTED}`,
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
