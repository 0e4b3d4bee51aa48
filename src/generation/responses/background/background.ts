import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../../../access/access.types.js';
import { ApiError, invalid } from '../../../contract/errors.js';
import type { Database } from '../../../database/database.types.js';
import { toKeyLostError, takeBoundId } from '../../../idempotency/index.js';
import { createLeaseWorker, isDatabaseAway } from '../../../jobs/index.js';
import type { LeaseTimes, LeaseWorker } from '../../../jobs/index.js';
import type { CallContext } from '../../../metering/call-context.js';
import { isFields } from '../../../providers/index.js';
import type { AdmittedChat } from '../../chat/admission.js';
import type { Fields } from '../../dialects/checks.js';
import { admitCall } from '../../pipeline/call-admission.js';
import { begin } from '../ending.js';
import { EventLog } from '../events.js';
import { begunResponse } from '../object.js';
import type { ResponseObject } from '../object.js';
import { itemId, readResponse } from '../request.js';
import { IS_STORED, KEYED } from '../response.queries.js';
import { isOpen } from '../store.js';
import type { ResponseParts } from '../responses.types.js';
import type { ResponseWork } from '../work.js';
import { ResponseExecution } from './execution.js';
import type { BackgroundRequest } from './execution.js';
import { cancelBackground, createBackground, createResponseWriter, responseMoves } from './moves.queries.js';
import type { ResponseKind, WorkRow } from './moves.queries.js';

const MAX_KEY = 255;
/** How long a cancellation waits until the worker has ended the response. */
const CANCEL_MS = 10_000;
const LOOK_MS = 50;

export interface BackgroundOptions extends ResponseParts {
  database: Database;
  /** Checks a call and reserves its price. @throws ApiError in the order of decisions 1 */
  admitted(call: CallContext, body: Fields): Promise<ResponseWork>;
  /** The same for a call that was admitted before; reserves nothing. */
  resumed(call: CallContext, body: Fields, row: WorkRow): Promise<ResponseWork>;
}

/** Responses in the background: they are generated without waiting callers (beyond 12.2). */
export interface BackgroundResponses {
  /**
   * @param key the caller's idempotency key: a later call with the same key gets the response of the first call
   * @returns the response's id. @throws ApiError in the order of decisions 1, idempotency_mismatch
   */
  start(call: CallContext, body: Fields, key?: string | null): Promise<string>;
  /** The same for a chat (beyond 12.3). */
  startChat(call: CallContext, body: Fields, key: string): Promise<string>;
  /** The id of the response or chat that was started with a key; null if there is none. */
  startedUnder(orgId: string, key: string): Promise<string | null>;
  /** Cancels an open response, and resolves when it has ended. @returns false if it is unknown */
  cancel(orgId: string, id: string): Promise<boolean>;
  worker(options: { refresh(principal: Principal): Promise<Principal> } & LeaseTimes): LeaseWorker;
}

export function createBackgroundResponses(options: BackgroundOptions): BackgroundResponses {
  return {
    start: (call, body, key = null) =>
      start(options, call, { kind: 'response', body, key, begin: () => beginResponse(options, call, body) }),
    startChat: (call, body, key) =>
      start(options, call, { kind: 'chat', body, key, begin: () => beginChat(options, call, body) }),
    startedUnder: async (orgId, key) => (await keyedRow(options, orgId, key))?.id ?? null,
    cancel: (orgId, id) => cancel(options, orgId, id),
    worker: (times) => createWorker(options, times),
  };
}

interface Start {
  kind: ResponseKind;
  body: Fields;
  key: string | null;
  /** Checks the call and reserves its price. @throws ApiError in the order of decisions 1 */
  begin(): Promise<Begun>;
}

/** An admitted call, and the data that is stored for it. */
interface Begun {
  id: string;
  chat: AdmittedChat;
  response: ResponseObject;
  items: readonly Fields[];
  previousId: string | null;
  events: string[];
}

const queued = (response: ResponseObject): ResponseObject => ({ ...response, status: 'queued' });

async function beginResponse(options: BackgroundOptions, call: CallContext, body: Fields): Promise<Begun> {
  const work = await options.admitted(call, body);
  const { turn, prepared, id } = work;
  turn.caller.leave();
  const { items, previousId } = prepared.request;
  const response = queued(begin(work, turn.chat.model, null));
  const log = new EventLog();
  log.push({ type: 'response.created', response: response as never });
  log.push({ type: 'response.queued', response: response as never });
  return { id, chat: turn.chat, response, items, previousId, events: log.ready };
}

async function beginChat(
  { engine, store }: BackgroundOptions,
  call: CallContext,
  body: Fields,
): Promise<Begun> {
  await store.requireRoom(call.principal);
  const chat = await engine.admission.admit(call, body);
  const { model, operationId } = chat;
  const id = `resp_${operationId.slice('op_'.length)}`;
  const request = readResponse({ model: model.id, input: [], background: true });
  const response = queued(begunResponse({ id, request, model, tier: model.tier, leftOut: [] }));
  const messages = Array.isArray(body['messages']) ? (body['messages'] as unknown[]) : [];
  const items = messages
    .filter(isFields)
    .map((message) => ({ id: itemId('message'), type: 'message', ...message }));
  return { id, chat, response, items, previousId: null, events: [] };
}

async function start(options: BackgroundOptions, call: CallContext, start: Start): Promise<string> {
  const { kind, body, key } = start;
  const bound = takeBoundId(call, 'resp');
  if (bound !== null) return bound;
  const named = key === null ? null : nameOf(key, [kind, body]);
  const earlier = named && (await startedBefore(options, call, named));
  const { metering } = options.engine.options;
  if (earlier !== null) {
    await admitCall(metering, call, {});
    return earlier;
  }
  const begun = await start.begin();
  const id = await create(options, begun, { kind, body, named });
  if (id === begun.id) return id;
  await metering.release(begun.chat.operationId);
  const first = named && (await startedBefore(options, call, named));
  if (first === null) throw new ApiError('conflict', 'The response was deleted meanwhile', { retryAfter: 1 });
  return first;
}

interface Named {
  key: string;
  fingerprint: string;
}

function nameOf(key: string, asked: unknown): Named {
  if (key === '' || key.length > MAX_KEY)
    throw invalid(`idempotencyKey must have 1 to ${MAX_KEY} characters`, 'idempotencyKey');
  return { key, fingerprint: createHash('sha256').update(JSON.stringify(asked)).digest('hex') };
}

async function keyedRow({ database }: Pick<BackgroundOptions, 'database'>, orgId: string, key: string) {
  const [row] = await database.tenantQuery<{ id: string; fingerprint: string }>(orgId, KEYED, [orgId, key]);
  return row;
}

/** @throws ApiError idempotency_mismatch if the key was used for another call */
async function startedBefore(
  options: BackgroundOptions,
  { principal: { orgId } }: CallContext,
  { key, fingerprint }: Named,
): Promise<string | null> {
  const row = await keyedRow(options, orgId, key);
  if (row === undefined) return null;
  if (row.fingerprint !== fingerprint)
    throw new ApiError('idempotency_mismatch', 'The idempotency key was used for another request', {
      param: 'idempotencyKey',
    });
  return row.id;
}

async function create(
  { database, engine }: BackgroundOptions,
  { id, chat, response, items, previousId, events }: Begun,
  { kind, body, named }: { kind: ResponseKind; body: Fields; named: Named | null },
): Promise<string> {
  const { call, operationId, promptTokens, maxTokens, model } = chat;
  const { orgId, keyId, userId, token, stamps } = call.principal;
  const { dialect, tagsHeader, sentFor } = call;
  const own = { cappedBy: token?.id, stamps };
  const request: BackgroundRequest = {
    body: { ...body, model: model.id },
    ...own,
    dialect,
    tagsHeader,
    sentFor,
  };
  const row = {
    id,
    orgId,
    keyId,
    userId,
    kind,
    model: model.id,
    previousId,
    operationId,
    requestId: call.requestId,
    client: call.client,
    promptTokens,
    maxTokens,
    key: named?.key ?? null,
    fingerprint: named?.fingerprint ?? null,
    boundTo: call.idempotencyKey,
  };
  try {
    return await createBackground(database.system, {
      row,
      response: JSON.stringify(response),
      input: JSON.stringify(items),
      request: JSON.stringify(request),
      itemIds: items.flatMap(({ id: own }) => (typeof own === 'string' ? [own] : [])),
      events,
    });
  } catch (error) {
    const isStored = async () => (await database.tenantQuery(orgId, IS_STORED, [id])).length > 0;
    const undone = engine.options.metering.releaseUnless(operationId, isStored);
    if (!isDatabaseAway(error)) await undone;
    throw toKeyLostError(error);
  }
}

async function cancel({ database, store }: BackgroundOptions, orgId: string, id: string): Promise<boolean> {
  const { text, sequence, status } = await store.find(orgId, id);
  if (!isOpen(status)) return true;
  const response = { ...(JSON.parse(text) as Fields), status: 'cancelled' };
  const event = JSON.stringify({ type: 'response.cancelled', sequence_number: sequence, response });
  const prepared = { response: JSON.stringify(response), sequence, event };
  let open = await cancelBackground(database.system, { orgId, id }, prepared);
  for (const until = Date.now() + CANCEL_MS; open && Date.now() < until;) {
    const now = await store.find(orgId, id);
    open = isOpen(now.status);
    if (open) await sleep(LOOK_MS);
  }
  if (open) throw new ApiError('unavailable', 'The response is still being cancelled', { retryAfter: 1 });
  return open !== null;
}

function createWorker(
  options: BackgroundOptions,
  { refresh, ...times }: Parameters<BackgroundResponses['worker']>[0],
): LeaseWorker {
  const { database, engine } = options;
  const { logger } = engine.options;
  const writer = createResponseWriter(database);
  const parts = {
    engine,
    writer,
    logger,
    async callerOf({ key_id: keyId, request }: Pick<WorkRow, 'key_id' | 'request'>) {
      const { cappedBy, stamps } = JSON.parse(request) as BackgroundRequest;
      return { ...(await refresh({ keyId, cappedBy } as Principal)), stamps };
    },
    resume: (call: CallContext, row: WorkRow) =>
      options.resumed(call, (JSON.parse(row.request) as BackgroundRequest).body, row),
    events: async ({ org_id: orgId, id }: WorkRow) =>
      (await options.store.events(orgId, id, 0, Number.MAX_SAFE_INTEGER)).map(({ text }) => text),
  };
  return createLeaseWorker<WorkRow>({
    ...times,
    noun: { one: 'a response', many: 'responses' },
    hints: database.hints,
    pending: 'response_pending',
    cancelled: 'response_cancel',
    moves: responseMoves(database.system),
    begin: (row, work) => new ResponseExecution(parts, row, work),
    logger,
  });
}
