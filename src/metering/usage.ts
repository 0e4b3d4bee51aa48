import type { Database } from '../database/index.js';
import { invalid } from '../contract/errors.js';
import { toAmounts } from './amounts.js';
import type { UsagePage, UsageQuery, UsageRecord } from './metering.types.js';
import { LIST_USAGE } from './metering.queries.js';

interface Row {
  operation_id: string;
  kind: UsageRecord['operation'];
  state: UsageRecord['state'];
  request_id: string | null;
  job_id: string | null;
  run_id: string | null;
  key_id: string | null;
  model: string | null;
  service_client: string | null;
  client_name: string | null;
  user_agent: string | null;
  amounts: number[] | null;
  granted: number[] | null;
  created_at: Date;
  settled_at: Date | null;
  created_us: string;
}

const FOREVER = { us: '253370764800000000', id: '' };

function parseCursor(after: string | undefined): { us: string; id: string } {
  if (after === undefined) return FOREVER;
  const found = /^(\d{1,18}) ([\w-]{1,100})$/.exec(Buffer.from(after, 'base64url').toString('latin1'));
  if (found?.[1] === undefined || found[2] === undefined) throw invalid('Invalid cursor', 'cursor');
  return { us: found[1], id: found[2] };
}

const cursorOf = ({ created_us: us, operation_id: id }: Row): string =>
  Buffer.from(`${us} ${id}`, 'latin1').toString('base64url');

function toRecord(row: Row): UsageRecord {
  return {
    id: row.operation_id,
    operation: row.kind,
    state: row.state,
    requestId: row.request_id,
    jobId: row.job_id,
    runId: row.run_id,
    keyId: row.key_id,
    model: row.model,
    client: { serviceClient: row.service_client, clientName: row.client_name, userAgent: row.user_agent },
    amounts: toAmounts(row.amounts ?? []),
    granted: toAmounts(row.granted ?? []),
    createdAt: row.created_at.toISOString(),
    settledAt: row.settled_at?.toISOString() ?? null,
  };
}

/** An organisation's ledger, newest first. @throws ApiError invalid_request for a cursor that is none */
export async function listUsage(database: Pick<Database, 'system'>, query: UsageQuery): Promise<UsagePage> {
  const { us, id } = parseCursor(query.after);
  const since = query.since ?? new Date(0);
  const rows = await database.system.query<Row>(LIST_USAGE, [query.orgId, since, us, id, query.first + 1]);
  const page = rows.slice(0, query.first);
  const cursors = page.map(cursorOf);
  const more = rows.length > query.first;
  return { nodes: page.map(toRecord), cursors, nextCursor: more ? (cursors.at(-1) ?? null) : null };
}
