import { BUCKETS } from '../contract/words.js';
import { DAYS } from './summary-plan.js';

/** One state of the database for all that follows, and an end to what takes too long. What is compiled for one reading costs more than it saves. */
export const BEGIN_READING = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL statement_timeout = 5000; SET LOCAL jit = off; SET LOCAL work_mem = '32MB'`;

/** What the row says of its upstreams, with what was known only after its end; the row's own words come first. */
const late = (own: string, later: string): string =>
  `CASE WHEN correction IS NULL OR kind = 'adjustment' THEN ${own} ELSE
    (SELECT ${later} FROM usage_ledger c WHERE c.operation_id = usage_ledger.correction) END`;
const LATE = {
  model: late('answered_model', 'COALESCE(usage_ledger.answered_model, c.answered_model)'),
  provider: late('provider', 'COALESCE(usage_ledger.provider, c.provider)'),
  ids: late('upstream_id', "NULLIF(concat_ws(' ', usage_ledger.upstream_id, c.upstream_id), '')"),
  tokens: late('tokens', 'COALESCE(usage_ledger.tokens, c.tokens)'),
  cost: late(
    'cost_nano',
    'usage_ledger.cost_nano + CASE WHEN c.answered_model IS NULL THEN COALESCE(c.cost_nano, 0) ELSE c.cost_nano END',
  ),
  version: late('cost_version', 'COALESCE(usage_ledger.cost_version, c.cost_version)'),
};

/** Where an operation ends the row tells what it was charged for, till then what is reserved. Kind `period` is no record. */
const RECORD = `operation_id, org_id, kind, state, request_id, job_id, run_id, parent, key_id, end_user, tags, model,
  ${LATE.model} AS answered_model, ${LATE.provider} AS provider, ${LATE.ids} AS upstream_id, status, error_code, latency_ms, first_token_ms,
  to_json(${LATE.tokens}) AS tokens, (${LATE.cost})::text AS cost_nano, ${LATE.version} AS cost_version,
  service_client, client_name, user_agent, created_at, settled_at, sequence,
  (extract(epoch FROM created_at) * 1000000)::bigint::text AS created_us,
  to_json(CASE state WHEN 'reserved' THEN reserved WHEN 'settled' THEN charged END) AS amounts, to_json(granted) AS granted`;

/** An adjustment that is not settled says what the row of its operation says. */
const IS_RECORD = `kind NOT IN ('period', 'hold') AND (kind <> 'adjustment' OR state = 'settled')`;

/** Newest first, by time and then id; the cursor names the last row seen. @param conditions of a filter */
export const recordsStatement = (conditions: string, backwards: boolean): string => `
  SELECT ${RECORD} FROM usage_ledger
  WHERE org_id = $1 AND ${IS_RECORD} AND created_at <= 'epoch'::timestamptz + $2::bigint * interval '1 microsecond'
    AND (created_at, operation_id) < ('epoch'::timestamptz + $2::bigint * interval '1 microsecond', $3)${conditions}
  ORDER BY created_at ${backwards ? 'ASC' : 'DESC'}, operation_id ${backwards ? 'ASC' : 'DESC'} LIMIT $4`;

/** Bounds a page at its beginning, by two values behind those that there are. */
export const newerThan = (values: number): string =>
  ` AND (created_at, operation_id) > ('epoch'::timestamptz + $${values + 1}::bigint * interval '1 microsecond', $${values + 2}::text)`;

/** By their ids. */
export const RECORDS_BY_ID = `SELECT ${RECORD} FROM usage_ledger WHERE org_id = $1 AND operation_id = ANY ($2) AND ${IS_RECORD}`;

export const countStatement = (conditions: string): string =>
  `SELECT count(*)::bigint AS count FROM usage_ledger WHERE org_id = $1 AND ${IS_RECORD}${conditions}`;

/** Organisations whose ledger is ahead of their rollups, or that have cells of pieces of time that are over and not grouped. */
export const BEHIND = `
  SELECT b.org_id, b.sequence > COALESCE(f.sequence, 0) AS folds FROM balances b LEFT JOIN usage_folds f USING (org_id)
  WHERE NOT b.superseded AND (b.sequence > COALESCE(f.sequence, 0)
    OR f.folded_at >= f.whole_until[1] AND f.whole_until[1] < date_bin('30 minutes', clock_timestamp() - interval '5 minutes', 'epoch')
    OR EXISTS (SELECT 1 FROM generate_series(2, cardinality(f.whole_until)) n
      WHERE f.whole_until[n] < date_bin(penstock_usage_step(n), f.whole_until[n - 1], 'epoch')))`;

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
    ARRAY(SELECT (extract(epoch FROM w.until) * 1000)::bigint FROM unnest(f.whole_until) WITH ORDINALITY w (until, level) ORDER BY w.level) AS whole_until
  FROM (SELECT 1) one LEFT JOIN usage_folds f ON f.org_id = $6`;

/** The sums of cells and rollups, in the order in which a row has them. */
const SUMS = [
  'requests',
  'errors',
  'unpriced',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  ...BUCKETS,
  'cost_nano',
  'latency',
] as const;

/** A sum that may be more than a bigint is numeric. */
const sumOf = (name: (typeof SUMS)[number]): string =>
  `${name === 'cost_nano' || name === 'latency' ? 'sum' : 'penstock_sum'}(${name})`;

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
 * the intervals. Each run is one look at an index, in that order: nothing else is as quick, whatever the planner thinks of it. The sums of a row
 * are one text, with spaces between: so many columns would each be read by themselves.
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
    SELECT ${grouped}, concat_ws(' ', ${SUMS.map(sumOf).join(', ')}) AS sums
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

const OVERALL_SUMS = [
  'requests',
  'errors',
  'unpriced',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_nano',
] as const;
export type OverallSums = Record<(typeof OVERALL_SUMS)[number], string>;

/**
 * Sums over organisations: whole days from the rollups that have the dimensions (`dims`), the days that are not grouped yet from the cells. $1, $2:
 * the time in ms, whole days; $3: organisations, null for all.
 */
export function overallStatement(columns: readonly string[], dims: number, most: number): string {
  const sums = OVERALL_SUMS.join(', ');
  const [since, until] = ['to_timestamp($1::bigint / 1000.0)', 'to_timestamp($2::bigint / 1000.0)'];
  const grouped = columns.map((column) => `${column}, `).join('');
  return `WITH used AS (
      SELECT f.org_id, p.* FROM usage_folds f CROSS JOIN LATERAL (
        SELECT date_trunc('day', r.start, 'UTC') AS day, r.model, r.provider, ${sums} FROM usage_rollups r
          WHERE r.org_id = f.org_id AND r.level = ${DAYS} AND r.dims = ${dims} AND r.start >= ${since} AND r.start < LEAST(f.whole_until[${DAYS}], ${until})
        UNION ALL SELECT date_trunc('day', c.start, 'UTC'), c.model, c.provider, ${sums} FROM usage_cells c
          WHERE c.org_id = f.org_id AND c.start >= GREATEST(f.whole_until[${DAYS}], ${since}) AND c.start < ${until}) p
      WHERE $3::text[] IS NULL OR f.org_id = ANY ($3))
    SELECT s.*${columns.includes('org_id') ? ', o.name AS org_name' : ''} FROM (
      SELECT ${grouped}${OVERALL_SUMS.map((name) => `sum(${name})::text AS ${name}`).join(', ')}, sum(cost_nano) AS cost, sum(requests) AS n
      FROM used ${columns.length === 0 ? '' : `GROUP BY ${columns.join(', ')}`} ORDER BY cost DESC NULLS LAST, n DESC LIMIT ${most}) s
    ${columns.includes('org_id') ? 'LEFT JOIN organizations o ON o.id = s.org_id' : ''} ORDER BY cost DESC NULLS LAST, n DESC`;
}

export const LAST_HOUR = `SELECT c.provider, sum(c.requests)::text AS requests, sum(c.errors)::text AS errors, sum(c.latency)::text AS latency
  FROM usage_folds f CROSS JOIN LATERAL (SELECT * FROM usage_cells u WHERE u.org_id = f.org_id
    AND u.start >= date_bin('15 minutes', clock_timestamp() - interval '1 hour', 'epoch')) c
  WHERE c.provider IS NOT NULL AND f.folded_at > clock_timestamp() - interval '2 hours' GROUP BY c.provider`;
