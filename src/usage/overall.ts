import { invalid } from '../contract/errors.js';
import { usdOf } from '../pricing/index.js';
import type { UsageReader } from './bounded.js';
import { checkRange } from './filter.js';
import { percentiles } from './latency.js';
import { LAST_HOUR, overallStatement } from './usage.queries.js';
import type { OverallSums } from './usage.queries.js';
import type { OverallDimension, OverallQuery, OverallRow, Usage } from './usage.types.js';

const MAX_ROWS = 1_000;
const DAY_MS = 86_400_000;
const MAX_DAYS = 3_660;
/** In whose turn operators read: they are no organisation. */
const READER = 'operators';

const COLUMNS: Record<OverallDimension, string> = {
  day: 'day',
  organization: 'org_id',
  model: 'model',
  provider: 'provider',
};

/** The code of the rollups that know the dimensions. In those of one dimension each operation counts once. */
function dimsOf(groupBy: readonly OverallDimension[]): number {
  const model = groupBy.includes('model');
  return (model ? 1 : 0) + (groupBy.includes('provider') ? 2 : 0) || 1;
}

type Row = Partial<Record<'org_id' | 'org_name' | 'model' | 'provider', string | null>> & {
  day?: Date | null;
} & Record<keyof OverallSums, string | null>;

function toRow(row: Row): OverallRow {
  return {
    day: row.day ?? null,
    orgId: row.org_id ?? null,
    orgName: row.org_name ?? null,
    model: row.model ?? null,
    provider: row.provider ?? null,
    requests: Number(row.requests),
    errors: Number(row.errors),
    tokens: {
      input: Number(row.input_tokens),
      cachedInput: Number(row.cached_input_tokens),
      cacheWrite: Number(row.cache_write_tokens),
      output: Number(row.output_tokens),
      reasoning: Number(row.reasoning_tokens),
    },
    costUsd: usdOf(BigInt(row.cost_nano ?? 0)),
    unpriced: Number(row.unpriced),
  };
}

/** @see Usage.overall */
export async function sumOverall(reader: UsageReader, query: OverallQuery): Promise<OverallRow[]> {
  const { since, until, orgIds = null } = query;
  checkRange(since, until);
  const end = Math.ceil((until?.getTime() ?? Date.now()) / DAY_MS) * DAY_MS;
  const from = Math.floor((since?.getTime() ?? end - 30 * DAY_MS) / DAY_MS) * DAY_MS;
  if (end <= from) throw invalid('since must not be in the future', 'since');
  if ((end - from) / DAY_MS > MAX_DAYS) throw invalid('The time is longer than ten years', 'since');
  const groupBy = [...new Set(query.groupBy)];
  const columns = groupBy.map((name) => COLUMNS[name]);
  const statement = overallStatement(columns, dimsOf(groupBy), MAX_ROWS);
  const named = orgIds === null ? null : [...orgIds];
  const rows = await reader.read(READER, (sql) => sql.query<Row>(statement, [from, end, named]));
  return rows.filter(({ requests }) => requests !== null).map(toRow);
}

/** @see Usage.lastHour */
export async function readLastHour(reader: UsageReader): ReturnType<Usage['lastHour']> {
  const rows = await reader.read(READER, (sql) =>
    sql.query<Record<'provider' | 'requests' | 'errors' | 'latency', string>>(LAST_HOUR),
  );
  return new Map(
    rows.map(({ provider, requests, errors, latency }) => {
      const [p50 = null, p95 = null] = percentiles(latency, [0.5, 0.95]);
      return [provider, { requests: Number(requests), errors: Number(errors), latencyMs: { p50, p95 } }];
    }),
  );
}
