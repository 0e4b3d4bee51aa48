import type { Database } from '../../src/database/index.js';
import { newId } from '../../src/contract/ids.js';

/** The fields of an operation's ledger row that tests of usage need. */
export interface LedgerRow {
  id?: string;
  settledAt: Date;
  createdAt?: Date;
  kind?: string;
  state?: 'settled' | 'released';
  periodStart?: Date;
  model?: string | null;
  answeredModel?: string | null;
  provider?: string | null;
  upstreamId?: string | null;
  keyId?: string | null;
  endUser?: string | null;
  tags?: string[];
  status?: 'succeeded' | 'failed' | 'cancelled' | null;
  errorCode?: string | null;
  latencyMs?: number | null;
  tokens?: number[] | null;
  /** Null if unknown. */
  costNano?: string | null;
  /** In hundredths, in the order of buckets. */
  charged?: number[] | null;
  requestId?: string | null;
  jobId?: string | null;
  runId?: string | null;
  parent?: string | null;
  clientName?: string | null;
}

const NOTHING = [0, 0, 0, 0, 0, 0, 0, 0, 0];

const INSERT = `INSERT INTO usage_ledger (operation_id, org_id, key_id, kind, state, period_start, reserved, charged, model, request_id, job_id, run_id,
    client_name, created_at, settled_at, end_user, tags, parent, answered_model, provider, upstream_id, status, error_code, latency_ms, tokens, cost_nano,
    sequence)
  SELECT r.id, $1, r."keyId", r.kind, r.state, r."periodStart", $3::bigint[], r.charged, r.model, r."requestId", r."jobId", r."runId",
    r."clientName", r."createdAt", r."settledAt", r."endUser", r.tags, r.parent, r."answeredModel", r.provider, r."upstreamId", r.status, r."errorCode",
    r."latencyMs", r.tokens, r."costNano", r.sequence
  FROM json_to_recordset($2::json) r (id text, "keyId" text, kind text, state text, "periodStart" timestamptz, charged bigint[], model text, "requestId" text,
    "jobId" text, "runId" text, "clientName" text, "createdAt" timestamptz, "settledAt" timestamptz, "endUser" text, tags text[], parent text,
    "answeredModel" text, provider text, "upstreamId" text, status text, "errorCode" text, "latencyMs" int, tokens bigint[], "costNano" bigint, sequence bigint)`;

/** Writes ended operations with the next numbers of their organisation, like settlements, in one transaction. */
export async function writeLedger(
  database: Pick<Database, 'transaction'>,
  orgId: string,
  rows: readonly LedgerRow[],
): Promise<string[]> {
  return database.transaction(async (sql) => {
    const [balance] = await sql.query<{ last: number; period_start: Date }>(
      `UPDATE balances SET sequence = sequence + $2 WHERE org_id = $1 AND NOT superseded RETURNING sequence - $2 AS last, period_start`,
      [orgId, rows.length],
    );
    if (balance === undefined) throw new Error('the organisation has no balance yet');
    const whole = rows.map((row, at) => ({
      id: newId('op'),
      kind: 'chat',
      state: 'settled',
      periodStart: balance.period_start,
      createdAt: row.settledAt,
      tags: [],
      charged: row.state === 'released' ? null : NOTHING,
      status: 'succeeded',
      ...row,
      sequence: balance.last + at + 1,
    }));
    await sql.query(INSERT, [orgId, JSON.stringify(whole), NOTHING]);
    return whole.map(({ id }) => id);
  });
}
