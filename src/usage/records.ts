import { toPage } from '../collections/page.js';
import { invalid } from '../contract/errors.js';
import { toAmounts } from '../metering/index.js';
import { usdOf } from '../pricing/index.js';
import type { UsageReader } from './bounded.js';
import { ledgerConditions } from './filter.js';
import { countStatement, newerThan, recordsStatement, RECORDS_BY_ID } from './usage.queries.js';
import type { UsagePage, UsageQuery, UsageRecord, UsageRecordFilter } from './usage.types.js';

/** A row as `RECORD` reads it. */
export interface Row {
  operation_id: string;
  org_id: string;
  kind: UsageRecord['operation'];
  state: UsageRecord['state'];
  request_id: string | null;
  job_id: string | null;
  run_id: string | null;
  parent: string | null;
  key_id: string | null;
  end_user: string | null;
  tags: string[];
  model: string | null;
  answered_model: string | null;
  provider: string | null;
  upstream_id: string | null;
  status: UsageRecord['status'];
  error_code: string | null;
  latency_ms: number | null;
  first_token_ms: number | null;
  tokens: number[] | null;
  cost_nano: string | null;
  cost_version: string | null;
  service_client: string | null;
  client_name: string | null;
  user_agent: string | null;
  amounts: number[] | null;
  granted: number[] | null;
  created_at: Date;
  settled_at: Date | null;
  sequence: number | null;
  created_us: string;
}

const FOREVER = { us: '253370764800000000', id: '' };

function parseCursor(after: string | undefined, name = 'cursor'): { us: string; id: string } {
  if (after === undefined) return FOREVER;
  const found = /^(\d{1,18})\.([\w-]{1,100})$/.exec(after);
  if (found?.[1] === undefined || found[2] === undefined) throw invalid('Invalid cursor', name);
  return { us: found[1], id: found[2] };
}

const cursorOf = ({ created_us: us, operation_id: id }: Row): string => `${us}.${id}`;

function tokensOf([input = 0, cachedInput = 0, cacheWrite = 0, output = 0, reasoning = 0]: number[]) {
  return { input, cachedInput, cacheWrite, output, reasoning };
}

export function toRecord(row: Row): UsageRecord {
  return {
    id: row.operation_id,
    orgId: row.org_id,
    operation: row.kind,
    state: row.state,
    requestId: row.request_id,
    jobId: row.job_id,
    runId: row.run_id,
    parentRunId: row.parent,
    keyId: row.key_id,
    endUser: row.end_user,
    tags: row.tags,
    model: row.model,
    answeredModel: row.answered_model,
    provider: row.provider,
    upstreamId: row.upstream_id,
    status: row.status,
    errorCode: row.error_code,
    latencyMs: row.latency_ms,
    firstTokenMs: row.first_token_ms,
    tokens: row.tokens === null ? null : tokensOf(row.tokens),
    costUsd: row.cost_nano === null ? null : usdOf(BigInt(row.cost_nano)),
    costVersion: row.cost_version,
    client: { serviceClient: row.service_client, clientName: row.client_name, userAgent: row.user_agent },
    amounts: toAmounts(row.amounts ?? []),
    granted: toAmounts(row.granted ?? []),
    createdAt: row.created_at.toISOString(),
    settledAt: row.settled_at?.toISOString() ?? null,
    sequence: row.sequence,
  };
}

/** @see Usage.records */
export async function listRecords(
  reader: UsageReader,
  { orgId, filter = {}, ...query }: UsageQuery,
): Promise<UsagePage> {
  const { first, after, before, backwards = false } = query;
  const { us, id } = parseCursor(after);
  const { text, values } = ledgerConditions(filter, [orgId, us, id, first + 1]);
  const bound = before === undefined ? '' : newerThan(values.length);
  const statement = recordsStatement(`${text}${bound}`, backwards);
  if (before !== undefined) {
    const newer = parseCursor(before, 'before');
    values.push(newer.us, newer.id);
  }
  const rows = await reader.read(orgId, (sql) => sql.query<Row>(statement, values));
  const { nodes, ...page } = toPage(rows, query, cursorOf);
  return { ...page, nodes: nodes.map(toRecord), cursors: nodes.map(cursorOf) };
}

/** @see Usage.recordsById */
export async function recordsById(
  reader: UsageReader,
  orgId: string,
  ids: readonly string[],
): Promise<UsageRecord[]> {
  const rows = await reader.read(orgId, (sql) => sql.query<Row>(RECORDS_BY_ID, [orgId, [...ids]]));
  return rows.map(toRecord);
}

/** @see Usage.count */
export async function countRecords(
  reader: UsageReader,
  orgId: string,
  filter: UsageRecordFilter,
): Promise<number> {
  const { text, values } = ledgerConditions(filter, [orgId]);
  const [row] = await reader.read(orgId, (sql) => sql.query<{ count: number }>(countStatement(text), values));
  return row?.count ?? 0;
}
