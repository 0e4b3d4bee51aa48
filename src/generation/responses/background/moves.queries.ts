/** What changes a response in the background; the statements' sources are in migrations/current/responses/background.sql. */
import type { ClientInfo } from '../../../contract/words.js';
import type { Database, Sql } from '../../../database/database.types.js';
import { createBatcher, releaseLeases, renewLeases, wasRolledBack } from '../../../jobs/index.js';
import type { Batcher, Claiming, Hold, LeaseMoves } from '../../../jobs/index.js';
import { recordJson } from '../../../metering/index.js';
import type { OperationOutcome, SettlementEvent } from '../../../metering/metering.types.js';

const named = (name: string, text: string) => ({ name: `responses_${name}`, text });
const CREATE = named(
  'create',
  'SELECT penstock_response_create($1::jsonb, $2, $3, $4, $5::text[], $6::text[]) AS id',
);
const CLAIM = named('claim', 'SELECT * FROM penstock_responses_claim($1, $2, $3, $4)');
const SWEEP = {
  ...named('sweep', 'SELECT penstock_responses_sweep() AS waiting'),
  repeatable: true,
} as const;
const APPEND = named(
  'append',
  'SELECT id, cancelling FROM penstock_responses_append($1, $2, $3, $4, $5, $6, $7::text[])',
);
const END = named(
  'end',
  'SELECT penstock_response_end($1, $2, $3, $4, $5, $6::text[], $7::text[], $8::bigint[], $9::jsonb, $10, $11::jsonb) AS moved',
);
const CANCEL = named('cancel', 'SELECT penstock_response_cancel($1, $2, $3, $4, $5) AS open');

/** A chat under its caller's key has chunks as events. */
export type ResponseKind = 'response' | 'chat';

/** A response as a worker takes it. */
export interface WorkRow {
  id: string;
  org_id: string;
  key_id: string;
  kind: ResponseKind;
  model: string;
  response: string;
  /** A {@link BackgroundRequest} as JSON. */
  request: string;
  request_id: string;
  client: ClientInfo;
  prompt_tokens: number;
  max_tokens: number;
  sequence: number;
  cancelling: boolean;
  fence: number;
  created_at: Date;
}

export interface CreatedResponse {
  row: {
    id: string;
    orgId: string;
    keyId: string;
    userId: string;
    kind: ResponseKind;
    model: string;
    previousId: string | null;
    operationId: string;
    requestId: string;
    client: ClientInfo;
    promptTokens: number;
    maxTokens: number;
    /** The caller's own name for it, and what the call was. */
    key: string | null;
    fingerprint: string | null;
    /** The row of the request's Idempotency-Key. */
    boundTo: string | null;
  };
  response: string;
  input: string;
  request: string;
  itemIds: string[];
  events: string[];
}

/** @returns the id of the one that stands: another's where its key was used before */
export async function createBackground(sql: Sql, made: CreatedResponse): Promise<string> {
  const { row, response, input, request, itemIds, events } = made;
  const values = [JSON.stringify(row), response, input, request, itemIds, events];
  const [answer] = await sql.query<{ id: string }>(CREATE, values);
  if (answer === undefined) throw new Error('penstock_response_create answered nothing');
  return answer.id;
}

/** @param prepared the end of a response that nobody has begun. @returns null: unknown; else whether it was open */
export async function cancelBackground(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
  prepared: { response: string; sequence: number; event: string },
): Promise<boolean | null> {
  const values = [orgId, id, prepared.response, prepared.sequence, prepared.event];
  const [answer] = await sql.query<{ open: boolean | null }>(CANCEL, values);
  return answer?.open ?? null;
}

export function responseMoves(sql: Sql): LeaseMoves<WorkRow> {
  return {
    claim: ({ workerId, room: { free, reserve }, leaseMs }: Claiming) =>
      sql.query<WorkRow>(CLAIM, [workerId, free, reserve, leaseMs]),
    renew: (workerId, leases) => renewLeases(sql, 'responses', { workerId, ...leases }),
    requeue: (workerId, holds) => releaseLeases(sql, 'responses', { workerId, holds }),
    async sweep() {
      const [row] = await sql.query<{ waiting: boolean }>(SWEEP);
      return row?.waiting ?? true;
    },
  };
}

const namesOf = (holds: readonly Hold[]): [string[], number[]] => [
  holds.map(({ id }) => id),
  holds.map(({ fence }) => fence),
];

/** A batch of one response's events. */
export interface NewEvents {
  hold: Hold;
  /** Number of the event before them. */
  after: number;
  events: readonly string[];
}

/** Null: it is not the worker's any more, and nothing was written. */
export type Appended = { cancelling: boolean } | null;

export interface EndedResponse {
  hold: Hold;
  status: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  response: string;
  itemIds: string[];
  events: string[];
  /** Hundredths in the order of BUCKETS; null gives the reservation back. */
  amounts: number[] | null;
  event: SettlementEvent | null;
  outcome: OperationOutcome;
}

/** Writes of the responses in a worker's hands. */
export interface ResponseWriter {
  append(events: NewEvents): Promise<Appended>;
  /** @returns false where it is not the worker's any more: nothing was changed */
  end(ended: EndedResponse): Promise<boolean>;
}

const MAX_BATCH = 32;

export function createResponseWriter({ system: sql }: Pick<Database, 'system'>): ResponseWriter {
  const appends = createAppends(sql);
  return {
    append: (events) => appends.add(events),
    async end({ hold, status, response, itemIds, events, amounts, event, outcome }) {
      const { workerId, id, fence } = hold;
      const [row] = await sql.query<{ moved: boolean }>(END, [
        workerId,
        id,
        fence,
        status,
        response,
        itemIds,
        events,
        amounts,
        event === null ? null : JSON.stringify({ type: event.type, data: event.data }),
        event?.traceparent ?? null,
        JSON.stringify(recordJson(outcome)),
      ]);
      return row?.moved === true;
    },
  };
}

/** Batches of many responses that are closed together share a statement and a commit. */
function createAppends(sql: Sql): Batcher<NewEvents, Appended> {
  return createBatcher<NewEvents, Appended>({
    maxBatch: MAX_BATCH,
    retryable: wasRolledBack,
    async run(batches) {
      const ends: number[] = [];
      for (const { events } of batches) ends.push((ends.at(-1) ?? 0) + events.length);
      const rows = await sql.query<{ id: string; cancelling: boolean }>(APPEND, [
        batches[0]?.hold.workerId ?? '',
        ...namesOf(batches.map(({ hold }) => hold)),
        batches.map(({ after }) => after),
        ends.map((_, at) => (ends[at - 1] ?? 0) + 1),
        ends,
        batches.flatMap(({ events }) => events),
      ]);
      const written = new Map(rows.map(({ id, cancelling }) => [id, { cancelling }]));
      return batches.map(({ hold }) => written.get(hold.id) ?? null);
    },
  });
}
