/** Statements that change responses in the background. Their SQL functions are in migrations/current/responses/background.sql. */
import type { ClientInfo } from '../../../contract/words.js';
import type { Database, Sql } from '../../../database/database.types.js';
import { createBatcher, releaseLeases, renewLeases, wasRolledBack } from '../../../jobs/index.js';
import type { Batcher, Claiming, Hold, LeaseMoves } from '../../../jobs/index.js';
import { recordJson } from '../../../metering/index.js';
import type { OperationOutcome, SettlementEvent } from '../../../metering/metering.types.js';
import { joinedJson, jsonTexts } from '../response.queries.js';

const named = (name: string, text: string) => ({ name: `responses_${name}`, text });
const CREATE = named(
  'create',
  'SELECT penstock_response_create($1::jsonb, $2, $3, $4, $5::text[], $6::text[]) AS id',
);
const KEEP = named(
  'keep',
  `SELECT penstock_response_keep($1::jsonb, $2, $3, $4::text[], ${jsonTexts('$5')}, $6) AS kept`,
);
const CLAIM = named('claim', 'SELECT * FROM penstock_responses_claim($1, $2, $3, $4)');
const SWEEP = {
  ...named('sweep', 'SELECT penstock_responses_sweep() AS waiting'),
  repeatable: true,
} as const;
const APPEND = named(
  'append',
  `SELECT id, cancelling FROM penstock_responses_append($1, $2, $3, $4, $5, $6, ${jsonTexts('$7')})`,
);
const END = named(
  'end',
  `SELECT penstock_response_end($1, $2, $3, $4, $5, $6::text[], ${jsonTexts('$7')}, $8::bigint[], $9::jsonb, $10, $11::jsonb) AS moved`,
);
const GOES_ON = {
  ...named('goes_on', 'SELECT penstock_response_goes_on($1, $2, $3, $4, $5) AS moved'),
  repeatable: true,
} as const;
const CANCEL = named('cancel', 'SELECT penstock_response_cancel($1, $2, $3, $4, $5) AS open');

/** A `chat` was started with its caller's key; its events are chunks. */
export type ResponseKind = 'response' | 'chat';

/** A response that a worker has claimed. */
export interface WorkRow {
  id: string;
  org_id: string;
  key_id: string;
  kind: ResponseKind;
  model: string;
  response: string;
  /** A {@link BackgroundRequest} as JSON. Empty if its caller waited for it at a process that has died; then nobody can continue it. */
  request: string;
  request_id: string;
  client: ClientInfo;
  prompt_tokens: number;
  max_tokens: number;
  sequence: number;
  cancelling: boolean;
  fence: number;
  /** The answer that an upstream continues by itself. */
  upstream_model: string | null;
  upstream_id: string | null;
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
    /** The caller's idempotency key, and the fingerprint of its request. */
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

/** @returns the id of the stored response; the earlier response's id if the key was used before */
export async function createBackground(sql: Sql, made: CreatedResponse): Promise<string> {
  const { row, response, input, request, itemIds, events } = made;
  const values = [JSON.stringify(row), response, input, request, itemIds, events];
  const [answer] = await sql.query<{ id: string }>(CREATE, values);
  if (answer === undefined) throw new Error('penstock_response_create answered nothing');
  return answer.id;
}

/** An answer for which its caller waits, when its process begins to store it. */
export interface KeptResponse extends Pick<CreatedResponse, 'response' | 'input' | 'itemIds' | 'events'> {
  row: Omit<CreatedResponse['row'], 'kind' | 'key' | 'fingerprint' | 'boundTo'> & {
    workerId: string;
    /** Whether its operation has ended. */
    isOver: boolean;
  };
  leaseMs: number;
}

/** Stores an answer; its process holds it like a worker. May be called again. @returns false if its operation has ended before */
export async function keepResponse(sql: Sql, kept: KeptResponse): Promise<boolean> {
  const { row, response, input, itemIds, events, leaseMs } = kept;
  const values = [JSON.stringify(row), response, input, itemIds, joinedJson(events), leaseMs];
  const [answer] = await sql.query<{ kept: boolean }>(KEEP, values);
  return answer?.kept === true;
}

/** @param prepared the end for a response that no worker has begun. @returns null if the response is unknown; else whether it was open */
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
  /** The number of the event before the batch. */
  after: number;
  events: readonly string[];
}

/** Null if the worker no longer holds the response; then nothing was written. */
export type Appended = { cancelling: boolean } | null;

export interface EndedResponse {
  hold: Hold;
  status: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  response: string;
  itemIds: string[];
  events: string[];
  /** Hundredths in the order of BUCKETS; null releases the reservation. */
  amounts: number[] | null;
  event: SettlementEvent | null;
  outcome: OperationOutcome;
}

/** An answer that its upstream continues by itself. */
export interface UpstreamAnswer {
  model: string;
  /** The upstream's own id of the answer. */
  id: string;
}

/** Writes responses that a worker holds. */
export interface ResponseWriter {
  append(events: NewEvents): Promise<Appended>;
  /** Stores which answer an upstream continues by itself. @returns false if the worker no longer holds the response */
  storeUpstreamAnswer(hold: Hold, answer: UpstreamAnswer): Promise<boolean>;
  /** @returns false if the worker no longer holds the response; then nothing was changed */
  end(ended: EndedResponse): Promise<boolean>;
}

const MAX_BATCH = 32;

export function createResponseWriter({ system: sql }: Pick<Database, 'system'>): ResponseWriter {
  const appends = createAppends(sql);
  return {
    append: (events) => appends.add(events),
    async storeUpstreamAnswer({ workerId, id, fence }, answer) {
      const [row] = await sql.query<{ moved: boolean }>(GOES_ON, [
        workerId,
        id,
        fence,
        answer.model,
        answer.id,
      ]);
      return row?.moved === true;
    },
    async end({ hold, status, response, itemIds, events, amounts, event, outcome }) {
      const { workerId, id, fence } = hold;
      const [row] = await sql.query<{ moved: boolean }>(END, [
        workerId,
        id,
        fence,
        status,
        response,
        itemIds,
        joinedJson(events),
        amounts,
        event === null ? null : JSON.stringify({ type: event.type, data: event.data }),
        event?.traceparent ?? null,
        JSON.stringify(recordJson(outcome)),
      ]);
      return row?.moved === true;
    },
  };
}

/** Batches of many responses that close at the same time share one statement and one commit. */
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
        joinedJson(batches.flatMap(({ events }) => events)),
      ]);
      const written = new Map(rows.map(({ id, cancelling }) => [id, { cancelling }]));
      return batches.map(({ hold }) => written.get(hold.id) ?? null);
    },
  });
}
