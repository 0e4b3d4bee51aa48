import { BUCKETS } from '../contract/words.js';
import type { UsageReader } from './bounded.js';
import { listRecords } from './records.js';
import type { UsageExportQuery, UsageRecord } from './usage.types.js';

/** Records that are read, and written, at once. */
const PAGE = 500;

/** What an export has of a record, by the name of its column; one for each bucket, in its units. */
function fieldsOf(record: UsageRecord): Record<string, string | number | null | object> {
  const { client, tokens, amounts, granted } = record;
  const units = (vector: object) =>
    Object.fromEntries(Object.entries(vector).map(([bucket, amount]) => [bucket, Number(amount) / 100]));
  return {
    id: record.id,
    operation: record.operation,
    state: record.state,
    status: record.status,
    error_code: record.errorCode,
    created_at: record.createdAt,
    settled_at: record.settledAt,
    sequence: record.sequence,
    key_id: record.keyId,
    end_user: record.endUser,
    tags: record.tags,
    model: record.model,
    answered_model: record.answeredModel,
    provider: record.provider,
    upstream_id: record.upstreamId,
    request_id: record.requestId,
    job_id: record.jobId,
    run_id: record.runId,
    parent_run_id: record.parentRunId,
    latency_ms: record.latencyMs,
    first_token_ms: record.firstTokenMs,
    input_tokens: tokens?.input ?? null,
    cached_input_tokens: tokens?.cachedInput ?? null,
    cache_write_tokens: tokens?.cacheWrite ?? null,
    output_tokens: tokens?.output ?? null,
    reasoning_tokens: tokens?.reasoning ?? null,
    cost_usd: record.costUsd,
    cost_version: record.costVersion,
    ...Object.fromEntries(BUCKETS.map((bucket) => [bucket, (amounts[bucket] ?? 0) / 100])),
    granted: units(granted),
    service_client: client.serviceClient,
    client_name: client.clientName,
    user_agent: client.userAgent,
  };
}

/** First characters by which a spreadsheet recognises a formula. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** A cell of RFC 4180. A text that a spreadsheet would calculate has an apostrophe before it, which makes it a text there too. */
export function csvCell(value: string | number | null | object): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const plain = typeof value === 'string' ? value : Array.isArray(value) ? value.join(',') : pairsOf(value);
  const text = FORMULA.test(plain) ? `'${plain}` : plain;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** `credits=2 chat_tokens=1500` */
const pairsOf = (value: object): string =>
  Object.entries(value)
    .map(([name, amount]) => `${name}=${String(amount)}`)
    .join(' ');

const csvLine = (cells: readonly (string | number | null | object)[]): string =>
  `${cells.map(csvCell).join(',')}\r\n`;

/** The columns' names come from a record that has nothing. */
const COLUMNS = Object.keys(fieldsOf({ client: {}, amounts: {}, granted: {} } as UsageRecord));

/** @see Usage.export */
export async function* exportRecords(
  reader: UsageReader,
  { orgId, filter, format }: UsageExportQuery,
): AsyncGenerator<string> {
  let page = await listRecords(reader, { orgId, filter, first: PAGE });
  if (format === 'csv') yield csvLine(COLUMNS);
  for (;;) {
    const lines = page.nodes.map((record) => {
      const fields = fieldsOf(record);
      return format === 'csv' ? csvLine(Object.values(fields)) : `${JSON.stringify(fields)}\n`;
    });
    if (lines.length > 0) yield lines.join('');
    if (page.nextCursor === null) return;
    page = await listRecords(reader, { orgId, filter, first: PAGE, after: page.nextCursor });
  }
}
