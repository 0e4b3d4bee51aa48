import { BUCKETS } from '../contract/words.js';

/** One state of the database for all comparisons, however long they take. */
export const BEGIN_COMPARING = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0; SET LOCAL jit = off`;

const vectorOf = (column: string, condition = ''): string =>
  `ARRAY[${BUCKETS.map((_, at) => `COALESCE(sum(${column}[${at + 1}])${condition}, 0)`).join(', ')}]::text[]`;
const CELL_AMOUNTS = `ARRAY[${BUCKETS.map((bucket) => `COALESCE(sum(${bucket}), 0)`).join(', ')}]::text[]`;

/** How far the ledger is folded, and which numbers it has: all after the last hole. */
export const NUMBERS = `
  SELECT COALESCE(f.sequence, 0) AS folded, COALESCE(f.whole_until, '{}') AS whole_until, b.sequence AS last,
    (SELECT count(l.sequence)::bigint FROM usage_ledger l WHERE l.org_id = $1) AS present,
    (SELECT max(n.sequence) FROM (SELECT l.sequence, lag(l.sequence, 1, 0::bigint) OVER (ORDER BY l.sequence) AS before
      FROM usage_ledger l WHERE l.org_id = $1 AND l.sequence IS NOT NULL) n WHERE n.sequence > n.before + 1) AS whole_from
  FROM (SELECT 1) one LEFT JOIN usage_folds f ON f.org_id = $1 LEFT JOIN balances b ON b.org_id = $1 AND NOT b.superseded`;

/** What balances say of each period, and what the ledger and the cells say of it. $2: the last folded number. */
export const PERIODS = `
  SELECT b.period_start, b.used::text[] AS used, b.reserved::text[] AS reserved, l.folded, l.unfolded, l.open, c.cells
  FROM balances b
  CROSS JOIN LATERAL (SELECT ${vectorOf('l.charged', ' FILTER (WHERE l.sequence <= $2)')} AS folded,
      ${vectorOf('l.charged', " FILTER (WHERE l.state <> 'reserved' AND (l.sequence IS NULL OR l.sequence > $2))")} AS unfolded,
      ${vectorOf('l.reserved', " FILTER (WHERE l.state = 'reserved')")} AS open
    FROM usage_ledger l WHERE l.org_id = $1 AND l.period_start = b.period_start) l
  CROSS JOIN LATERAL (SELECT ${CELL_AMOUNTS} AS cells FROM usage_cells c WHERE c.org_id = $1 AND c.period_start = b.period_start) c
  WHERE b.org_id = $1 ORDER BY b.period_start`;

/** What is folded of the ledger, and what the cells hold. $2: the last folded number. */
export const FOLDED = `
  SELECT l.requests AS ledger_requests, l.cost AS ledger_cost, c.requests AS cell_requests, c.cost AS cell_cost
  FROM (SELECT (count(*) FILTER (WHERE kind NOT IN ('adjustment', 'top_up', 'period')))::text AS requests,
      COALESCE(sum(cost_nano) FILTER (WHERE kind NOT IN ('top_up', 'period')), 0)::text AS cost
    FROM usage_ledger WHERE org_id = $1 AND sequence <= $2) l
  CROSS JOIN (SELECT COALESCE(sum(requests), 0)::text AS requests, COALESCE(sum(cost_nano), 0)::text AS cost FROM usage_cells WHERE org_id = $1) c`;

/** The sums of each kind of rollup but those of tags, beside the cells of the same time. $2: by level, before when they are whole. */
export const ROLLUPS = `
  SELECT r.level, r.dims, sum(r.requests)::text AS requests, sum(r.cost_nano)::text AS cost, ${CELL_AMOUNTS.replaceAll('sum(', 'sum(r.')} AS amounts,
    c.requests AS cell_requests, c.cost AS cell_cost, c.amounts AS cell_amounts
  FROM usage_rollups r
  JOIN LATERAL (SELECT sum(requests)::text AS requests, sum(cost_nano)::text AS cost, ${CELL_AMOUNTS} AS amounts FROM usage_cells
    WHERE org_id = $1 AND start < ($2::timestamptz[])[r.level]) c ON true
  WHERE r.org_id = $1 AND r.dims < 64 GROUP BY r.level, r.dims, c.requests, c.cost, c.amounts ORDER BY r.level, r.dims`;

/** What budgets' counters say, and what the operations that they count say: their ends, and what corrected those. */
export const COUNTERS = `
  SELECT c.budget_id, c.subject, c.period_start, c.spent::text, c.reserved::text,
    COALESCE(l.spent, 0)::text AS ledger_spent, COALESCE(l.reserved, 0)::text AS ledger_reserved
  FROM budget_counters c
  LEFT JOIN LATERAL (SELECT
      sum(CASE WHEN c.amount = 0 THEN COALESCE(l.cost_nano, 0) + COALESCE(x.cost_nano, 0)
        ELSE COALESCE(l.charged[c.amount], 0) + COALESCE(x.charged[c.amount], 0) END) FILTER (WHERE l.state <> 'reserved') AS spent,
      sum(CASE WHEN c.amount = 0 THEN l.reserved_nano ELSE l.reserved[c.amount] END) FILTER (WHERE l.state = 'reserved') AS reserved
    FROM usage_ledger l LEFT JOIN usage_ledger x ON x.operation_id = l.correction
    WHERE l.org_id = $1 AND c.id = ANY (l.counters)) l ON true
  WHERE c.org_id = $1 ORDER BY c.id`;

/** What the ledger knows of answers by their upstreams' ids: a record has all of its attempts and rounds, with spaces between. */
export const ANSWERS = `
  SELECT upstream_id, COALESCE(answered_model, model) AS model, to_json(tokens) AS tokens, cost_nano::text, created_at
  FROM usage_ledger WHERE org_id = $1 AND string_to_array(upstream_id, ' ') && $2::text[] AND kind NOT IN ('top_up', 'period')`;

/** Answers of the same models in the same time that an invoice does not name. */
export const UNNAMED = `
  SELECT upstream_id, cost_nano::text FROM usage_ledger
  WHERE org_id = $1 AND upstream_id IS NOT NULL AND NOT string_to_array(upstream_id, ' ') && $2::text[] AND COALESCE(answered_model, model) = ANY ($3)
    AND created_at >= $4 AND created_at <= $5 AND cost_nano > 0 AND kind NOT IN ('top_up', 'period')
  ORDER BY created_at LIMIT 10000`;
