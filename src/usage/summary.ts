import { timeSlicer } from '../collections/time-slicer.js';
import { invalid } from '../contract/errors.js';
import type { Sql, SqlValue } from '../database/index.js';
import { toAmounts } from '../metering/index.js';
import { usdOf } from '../pricing/index.js';
import type { UsageReader } from './bounded.js';
import { checkFilter, checkRange, FILTER_NAMES } from './filter.js';
import type { FilterName } from './filter.js';
import { percentiles } from './latency.js';
import { dimsOf, QUARTER_MS, runsOf } from './summary-plan.js';
import { INTERVALS, summaryStatement } from './usage.queries.js';
import { USAGE_DIMENSIONS, USAGE_INTERVALS } from './usage.types.js';
import type {
  OperationStatus,
  SummaryQuery,
  SummaryRow,
  UsageDimension,
  UsageInterval,
} from './usage.types.js';

/** An answer has no more rows (beyond 13.6). */
const MAX_ROWS = 10_000;
const MAX_DIMENSIONS = 2;
const DEFAULT_MS = 30 * 86_400_000;

/** At least how long an interval is, and a step that no interval is shorter than. */
const INTERVAL: Record<UsageInterval, { atLeastMs: number; step: string }> = {
  hour: { atLeastMs: 1_800_000, step: '15 minutes' },
  day: { atLeastMs: 72_000_000, step: '6 hours' },
  month: { atLeastMs: 27 * 86_400_000, step: '7 days' },
};

const COLUMNS: Record<UsageDimension, string> = {
  model: 'model',
  provider: 'provider',
  key: 'key_id',
  endUser: 'end_user',
  operation: 'operation',
  status: 'status',
  tag: 'tag',
};

const FILTER_COLUMNS: Record<FilterName, { rollups: string; cells: string }> = {
  models: { rollups: 'model = ANY', cells: 'model = ANY' },
  providers: { rollups: 'provider = ANY', cells: 'provider = ANY' },
  keyIds: { rollups: 'key_id = ANY', cells: 'key_id = ANY' },
  endUsers: { rollups: 'end_user = ANY', cells: 'end_user = ANY' },
  operations: { rollups: 'operation = ANY', cells: 'operation = ANY' },
  statuses: { rollups: 'status = ANY', cells: 'status = ANY' },
  tags: { rollups: 'tag = ANY', cells: 'tags &&' },
};

type Row = { nth: number; sums: string } & Partial<Record<string, string | null>>;

/** A query, checked, its times cut to quarters of an hour. */
interface CheckedQuery {
  orgId: string;
  since: number;
  until: number;
  interval: UsageInterval;
  timeZone: string;
  groupBy: UsageDimension[];
  given: Partial<Record<FilterName, string[]>>;
}

/** A zone's name as PostgreSQL and JavaScript know it. An offset would mean the opposite to PostgreSQL. @throws ApiError invalid_request */
function checkTimeZone(name: string): string {
  try {
    if (!/^[A-Za-z][\w+/-]{0,63}$/.test(name)) throw new RangeError('no name');
    new Intl.DateTimeFormat('en', { timeZone: name });
    return name;
  } catch {
    throw invalid('time_zone must be a name such as Europe/Berlin', 'time_zone');
  }
}

/** @throws ApiError invalid_request with `param` */
function check(query: SummaryQuery): CheckedQuery {
  const { orgId, since, until, groupBy, filter, timeZone } = query;
  const interval = query.interval ?? 'day';
  checkRange(since, until);
  if (!USAGE_INTERVALS.includes(interval))
    throw invalid(`interval must be one of ${USAGE_INTERVALS.join(', ')}`, 'interval');
  const dimensions = [...new Set(groupBy ?? [])];
  if (!dimensions.every((name) => USAGE_DIMENSIONS.includes(name)))
    throw invalid(`group_by must be of ${USAGE_DIMENSIONS.join(', ')}`, 'group_by');
  if (dimensions.length > MAX_DIMENSIONS)
    throw invalid(`group_by must name at most ${MAX_DIMENSIONS}`, 'group_by');
  const given = checkFilter(filter ?? {});
  const zone = checkTimeZone(timeZone ?? 'UTC');
  const end = Math.ceil((until?.getTime() ?? Date.now()) / QUARTER_MS) * QUARTER_MS;
  const from = Math.floor((since?.getTime() ?? end - DEFAULT_MS) / QUARTER_MS) * QUARTER_MS;
  if (end <= from) throw invalid('since must not be in the future', 'since');
  if ((end - from) / INTERVAL[interval].atLeastMs > 2 * MAX_ROWS)
    throw invalid(`The time has more than ${MAX_ROWS} intervals`, 'since');
  return { orgId, since: from, until: end, interval, timeZone: zone, groupBy: dimensions, given };
}

interface Intervals {
  starts: number[];
  whole_until: number[];
}

async function readRows(sql: Sql, requested: CheckedQuery): Promise<{ starts: number[]; rows: Row[] }> {
  const { orgId, since, until, interval, timeZone, groupBy, given } = requested;
  const [times] = await sql.query<Intervals>(INTERVALS, [
    since,
    until,
    interval,
    timeZone,
    INTERVAL[interval].step,
    orgId,
  ]);
  const starts = times?.starts ?? [];
  if (starts.length > MAX_ROWS) throw invalid(`The time has more than ${MAX_ROWS} intervals`, 'since');
  const dims = dimsOf(groupBy, given);
  const bounds = {
    starts,
    since,
    until,
    wholeUntil: times?.whole_until ?? [],
  };
  const runs = runsOf(bounds, dims);
  const values: SqlValue[] = [
    orgId,
    runs.map(({ level }) => level),
    runs.map(({ from }) => from),
    runs.map(({ until: end }) => end),
    starts,
  ];
  const conditions = { rollups: '', cells: '' };
  for (const name of FILTER_NAMES) {
    const list = given[name];
    if (list === undefined) continue;
    const place = ` (($${values.push(list)})::text[])`;
    for (const kind of ['rollups', 'cells'] as const)
      conditions[kind] += ` AND r.${FILTER_COLUMNS[name][kind]}${place}`;
  }
  const columns = groupBy.map((name) => COLUMNS[name]);
  const rows = await sql.query<Row>(summaryStatement({ columns, dims, conditions }, MAX_ROWS + 1), values);
  if (rows.length > MAX_ROWS)
    throw invalid(
      `The answer would have more than ${MAX_ROWS} rows: choose a shorter time or a filter`,
      groupBy.length > 0 ? 'group_by' : 'since',
    );
  return { starts, rows };
}

function toRow(row: Row, starts: readonly number[]): SummaryRow {
  const sums = row.sums.split(' ');
  const latency = sums.pop() ?? '0';
  const costNano = sums.pop() ?? '0';
  const [
    requests = 0,
    errors = 0,
    unpriced = 0,
    input = 0,
    cachedInput = 0,
    cacheWrite = 0,
    output = 0,
    reasoning = 0,
    ...amounts
  ] = sums.map(Number);
  const [p50 = null, p95 = null] = percentiles(latency, [0.5, 0.95]);
  return {
    start: new Date(starts[row.nth - 1] ?? 0),
    model: row['model'] ?? null,
    provider: row['provider'] ?? null,
    keyId: row['key_id'] ?? null,
    endUser: row['end_user'] ?? null,
    tag: row['tag'] ?? null,
    operation: row['operation'] ?? null,
    status: (row['status'] ?? null) as OperationStatus | null,
    requests,
    errors,
    tokens: { input, cachedInput, cacheWrite, output, reasoning },
    costUsd: usdOf(BigInt(costNano)),
    unpriced,
    amounts: toAmounts(amounts),
    latencyMs: { p50, p95 },
  };
}

/** @see Usage.summary */
export async function summarize(reader: UsageReader, query: SummaryQuery): Promise<SummaryRow[]> {
  const requested = check(query);
  const { starts, rows } = await reader.read(requested.orgId, (sql) => readRows(sql, requested));
  return timeSlicer.map(rows, (row) => toRow(row, starts));
}
