import { BUCKETS } from '../contract/words.js';

/** One state of the database for all that follows, and an end to what takes too long. What is compiled for one reading costs more than it saves. */
export const BEGIN_READING = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL statement_timeout = 5000; SET LOCAL jit = off; SET LOCAL work_mem = '32MB'`;

/** Where an operation ends the row tells what it was charged for, till then what is reserved. Kind `period` is no record. */
const RECORD = `operation_id, org_id, kind, state, request_id, job_id, run_id, parent, key_id, end_user, tags, model, answered_model,
  provider, upstream_id, status, error_code, latency_ms, first_token_ms, to_json(tokens) AS tokens, cost_nano::text, cost_version,
  service_client, client_name, user_agent, created_at, settled_at, sequence,
  (extract(epoch FROM created_at) * 1000000)::bigint::text AS created_us,
  to_json(CASE state WHEN 'reserved' THEN reserved WHEN 'settled' THEN charged END) AS amounts, to_json(granted) AS granted`;

/** An adjustment that is not settled says what the row of its operation says. */
const IS_RECORD = `kind NOT IN ('period', 'hold') AND (kind <> 'adjustment' OR state = 'settled')`;

/** Newest first, by time and then id; the cursor names the last row seen. @param conditions of a filter */
export const recordsStatement = (conditions: string): string => `
  SELECT ${RECORD} FROM usage_ledger
  WHERE org_id = $1 AND ${IS_RECORD} AND created_at <= 'epoch'::timestamptz + $2::bigint * interval '1 microsecond'
    AND (created_at, operation_id) < ('epoch'::timestamptz + $2::bigint * interval '1 microsecond', $3)${conditions}
  ORDER BY created_at DESC, operation_id DESC LIMIT $4`;

export const countStatement = (conditions: string): string =>
  `SELECT count(*)::bigint AS count FROM usage_ledger WHERE org_id = $1 AND ${IS_RECORD}${conditions}`;

/** Organisations whose ledger is ahead of their rollups, or that have cells of half hours that are over and not grouped. */
export const BEHIND = `
  SELECT b.org_id, b.sequence > COALESCE(f.sequence, 0) AS folds FROM balances b LEFT JOIN usage_folds f USING (org_id)
  WHERE NOT b.superseded AND (b.sequence > COALESCE(f.sequence, 0)
    OR f.folded_at >= f.halves_until AND f.halves_until < date_bin('30 minutes', clock_timestamp() - interval '5 minutes', 'epoch')
    OR f.days_until < date_bin('1 day', f.halves_until, 'epoch'))`;

export const FOLD = 'SELECT penstock_usage_fold($1, $2) AS count';
export const GROUP = 'SELECT penstock_usage_group($1) AS found';
export const REBUILD = 'SELECT penstock_usage_rebuild($1)::bigint AS count';
/** The folding of a long ledger is an operator's own time. */
export const WITHOUT_LIMIT = 'SET LOCAL statement_timeout = 0';

/**
 * The beginnings of a time's intervals in a zone, in ms since 1970, and how far the rollups are whole. The steps are so small that each interval
 * holds one; the words that `date_trunc` takes are those of the contract. $1 and $2: the time in ms.
 */
export const INTERVALS = `
  SELECT ARRAY(SELECT DISTINCT (extract(epoch FROM date_trunc($3, q, $4)) * 1000)::bigint AS start
      FROM (SELECT to_timestamp($1::bigint / 1000.0) AS q
        UNION ALL SELECT generate_series(to_timestamp($1::bigint / 1000.0), to_timestamp($2::bigint / 1000.0 - 1), $5::interval)
        UNION ALL SELECT to_timestamp($2::bigint / 1000.0 - 1)) s ORDER BY start) AS starts,
    (extract(epoch FROM f.halves_until) * 1000)::bigint AS halves_until, (extract(epoch FROM f.days_until) * 1000)::bigint AS days_until
  FROM (SELECT 1) one LEFT JOIN usage_folds f ON f.org_id = $6`;

/** The sums of cells and rollups, in the order in which `readSums` reads them. */
export const SUMS = [
  'requests',
  'errors',
  'unpriced',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_nano',
  'latency',
  ...BUCKETS,
] as const;

export interface SummaryStatement {
  /** Columns to group by. */
  columns: readonly string[];
  /** The code of the rollups that are read; null: cells alone are read. */
  dims: number | null;
  /** Conditions on rollups, and on cells. */
  conditions: { rollups: string; cells: string };
}

/**
 * What times of the rollups and of the cells add up to. Runs are `$2` levels, from `$3` to before `$4` (ms since 1970); `$5` are the beginnings of
 * the intervals. Each run is one look at an index, in that order: nothing else is as quick, whatever the planner thinks of it.
 */
export function summaryStatement({ columns, dims, conditions }: SummaryStatement, most: number): string {
  const names = ['start', ...columns.map((column) => `${column}`), ...SUMS].join(', ');
  const runs = `unnest($2::int[], $3::bigint[], $4::bigint[]) run (level, from_ms, until_ms)`;
  const within = `r.org_id = $1 AND r.start >= to_timestamp(run.from_ms / 1000.0) AND r.start < to_timestamp(run.until_ms / 1000.0)`;
  const tags = columns.includes('tag')
    ? `CROSS JOIN LATERAL unnest(CASE WHEN r.tags = '{}' THEN ARRAY[NULL::text] ELSE r.tags END) t (tag)`
    : '';
  const cells = `SELECT c.* FROM ${runs} CROSS JOIN LATERAL (SELECT ${names} FROM usage_cells r ${tags} WHERE run.level = 0 AND ${within}${conditions.cells} OFFSET 0) c`;
  const rollups =
    dims === null
      ? ''
      : `UNION ALL SELECT c.* FROM ${runs} CROSS JOIN LATERAL (SELECT ${names} FROM usage_rollups r
          WHERE run.level > 0 AND r.level = run.level AND r.dims = ${dims} AND ${within}${conditions.rollups} OFFSET 0) c`;
  const grouped = ['nth', ...columns].join(', ');
  return `
    SELECT ${grouped}, ${SUMS.map((name) => `sum(${name})::text AS ${name}`).join(', ')}
    FROM (SELECT width_bucket(start, (SELECT array_agg(to_timestamp(ms / 1000.0) ORDER BY ms) FROM unnest($5::bigint[]) ms)) AS nth, u.* FROM (${cells} ${rollups}) u) s
    GROUP BY ${grouped} ORDER BY nth${columns.map((column) => `, ${column} COLLATE "C" NULLS FIRST`).join('')} LIMIT ${most}`;
}

/** The numbered rows of an organisation's ledger in their order: what each changed of its balance stands in `charged`, `granted` and `opening`. */
export const UPDATES = {
  name: 'penstock_usage_updates',
  text: `SELECT ${RECORD}, period_start, to_json(charged) AS charged, opening
    FROM usage_ledger WHERE org_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
};

/** How far the ledgers of organisations are numbered. An organisation without a balance has none. */
export const POSITIONS = {
  name: 'penstock_usage_positions',
  text: `SELECT org_id AS id, sequence FROM balances WHERE org_id = ANY ($1) AND NOT superseded`,
};

/** What a quota's answer depends on, as one text for each organisation. */
export const QUOTA_STATES = {
  name: 'penstock_quota_states',
  text: `SELECT o.id, concat_ws(' ', o.version, b.period_start, b.period_end <= now(), b.allowance, b.topup_start, b.topup_added, b.used,
      b.reserved, b.covered, o.subscription_ends_at <= now()) AS state
    FROM organizations o LEFT JOIN balances b ON b.org_id = o.id AND NOT b.superseded WHERE o.id = ANY ($1)`,
};

/** Organisations that the topic has nothing of yet. */
export const PUBLISH_NEW = `INSERT INTO usage_published (org_id)
  SELECT b.org_id FROM balances b WHERE NOT b.superseded AND b.sequence > 0
    AND NOT EXISTS (SELECT 1 FROM usage_published p WHERE p.org_id = b.org_id)
  ON CONFLICT DO NOTHING`;

/**
 * The next rows of organisations whose topic is behind; who has waited longest comes first. One process publishes an organisation's rows at a
 * time, as long as its transaction lasts. $1: organisations, $2: rows of each.
 */
export const PUBLISH_NEXT = `WITH behind AS MATERIALIZED (
    SELECT p.org_id AS behind_org, p.sequence AS published FROM usage_published p JOIN balances b ON b.org_id = p.org_id AND NOT b.superseded
      WHERE b.sequence > p.sequence ORDER BY p.published_at LIMIT $1 FOR UPDATE OF p SKIP LOCKED)
  SELECT l.* FROM behind CROSS JOIN LATERAL (
    SELECT ${RECORD}, period_start, to_json(charged) AS charged, opening FROM usage_ledger
      WHERE org_id = behind_org AND sequence > published ORDER BY sequence LIMIT $2) l
  ORDER BY l.org_id, l.sequence`;

export const PUBLISHED = `UPDATE usage_published p SET sequence = u.sequence, published_at = clock_timestamp()
  FROM unnest($1::text[], $2::bigint[]) u (org_id, sequence) WHERE p.org_id = u.org_id`;

/**
 * Waits until all that was committed before is on the disk. Settlements commit first and are flushed afterwards: a crash of PostgreSQL in between
 * takes their numbers back, and gives them to others.
 */
export const ON_DISK = `SELECT set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, 'penstock', '')`;
