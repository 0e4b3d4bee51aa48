import type { ServerResponse } from 'node:http';
import { ApiError, toApiError } from '../contract/errors.js';
import type {
  AnswerPart,
  IdempotencyOutcome,
  IdempotentRequest,
  IdempotentRun,
  JoinedAnswer,
  RecordedAnswer,
} from '../idempotency/idempotency.types.js';
import type { CallContext } from '../metering/call-context.js';
import type { RateState } from '../metering/metering.types.js';
import type { HttpAnswer, HttpEdge } from './http.types.js';
import { encode, encodingFor } from './encoding.js';
import { openSse } from './sse.js';

/** Names and values in turns, as `writeHead` takes them. */
type HeaderList = (string | number)[];

const rateList = ({ limit, remaining, reset }: RateState): HeaderList => [
  'X-RateLimit-Limit',
  limit,
  'X-RateLimit-Remaining',
  remaining,
  'X-RateLimit-Reset',
  reset,
];
const dressList = (requestId: string): HeaderList => [
  'X-Request-Id',
  requestId,
  'X-Content-Type-Options',
  'nosniff',
];

function setAll(response: ServerResponse, list: HeaderList): void {
  for (let i = 0; i < list.length; i += 2) response.setHeader(String(list[i]), list[i + 1] ?? '');
}

/** The three X-RateLimit-* headers (contract 8.1). */
export function setRate(response: ServerResponse, rate: RateState | null): void {
  if (rate !== null) setAll(response, rateList(rate));
}

/** Sets the headers that every answer has: the request's id, and `X-Content-Type-Options: nosniff`. */
export function setCommonHeaders(response: ServerResponse, requestId: string): void {
  setAll(response, dressList(requestId));
}

/** Writes a whole answer in one piece; a longer text packed, to clients that accept it. */
export function sendAnswer(response: ServerResponse, answer: HttpAnswer): void {
  if (response.destroyed || response.headersSent) return;
  const head: HeaderList = [];
  for (const name in answer.headers) head.push(name, answer.headers[name] ?? '');
  write(response, answer, head);
}

/** Writes a whole answer together with the headers that every answer has. One list of headers costs half of what single `setHeader` calls cost. */
export function sendWithCommonHeaders(
  response: ServerResponse,
  { requestId, rate }: Pick<CallContext, 'requestId' | 'rate'>,
  answer: HttpAnswer,
): void {
  if (response.destroyed || response.headersSent) return;
  const head = dressList(requestId);
  if (rate !== null) head.push(...rateList(rate));
  for (const name in answer.headers) head.push(name, answer.headers[name] ?? '');
  write(response, answer, head);
}

function write(response: ServerResponse, { status, headers, body }: HttpAnswer, head: HeaderList): void {
  const bytes = Buffer.byteLength(body);
  const encoding = encodingFor(response, { type: headers['content-type'], bytes });
  if (encoding === null) {
    head.push('content-length', bytes);
    response.writeHead(status, head);
    response.end(body);
    return;
  }
  const finish = (packed: Buffer | null): void => {
    if (response.destroyed || response.headersSent) return;
    if (packed !== null) head.push('content-encoding', encoding);
    head.push('content-length', packed === null ? bytes : packed.length);
    response.writeHead(status, head);
    response.end(packed ?? body);
  };
  void encode(body, encoding).then(finish);
}

/** Headers of an error: `Retry-After`, and those that the error names itself (`Allow`, `X-Job-Id`). */
export function errorHeaders(error: ApiError): Record<string, string> {
  const { retryAfter, headers } = error.details;
  return { ...headers, ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }) };
}

/**
 * The rate state that an answer reports: what the call's admission left, else what the error carries, else the window as it stands.
 */
export async function rateFor(
  edge: HttpEdge,
  call: CallContext | null,
  error?: unknown,
): Promise<RateState | null> {
  const carried = error === undefined ? null : edge.rateOf(error);
  if (carried) return carried;
  if (call === null) return null;
  if (call.rate) return call.rate;
  // PostgreSQL is away, and the caller has already waited for it: do not ask it again.
  if (error instanceof ApiError && error.code === 'unavailable') return null;
  try {
    return await edge.currentRate(call);
  } catch (fault) {
    // The answer goes out without the rate headers.
    edge.onFault(fault, call.requestId);
    return null;
  }
}

/** Logs an unknown fault, and returns the masked ApiError for the caller. */
export function visibleError(edge: HttpEdge, fault: unknown, requestId: string): ApiError {
  const error = toApiError(fault);
  if (error.code === 'server_error') edge.onFault(error.details.cause ?? error, requestId);
  return error;
}

/** Sends the answer that an earlier request with the same key got, or is getting now. @returns false where the work is to be done */
export async function sendReplay(response: ServerResponse, outcome: IdempotencyOutcome): Promise<boolean> {
  if (outcome.kind !== 'replay' && outcome.kind !== 'join') return false;
  response.setHeader('Idempotent-Replayed', 'true');
  if (outcome.kind === 'replay') {
    sendAnswer(response, outcome.answer);
    return true;
  }
  await sendJoined(response, outcome.answer);
  return true;
}

/** Only streams can be joined. The joined stream has its own pings and its own time-out for a stalled reader. */
async function sendJoined(response: ServerResponse, { headers, body }: JoinedAnswer): Promise<void> {
  const writer = openSse(response, { headers });
  try {
    for await (const events of body) {
      if (!writer.open) return;
      const room = writer.write(events);
      if (room) await room;
    }
  } finally {
    // Needed also when the reader left earlier: nothing else ends the writer.
    writer.end();
  }
}

/** Of a request whose work has several effects. */
export interface Progress {
  /** What an earlier request with the same key has already done. */
  done: RecordedAnswer | null;
  /** Stores what is done so far, so that a retry does not repeat it if this process dies. */
  note(part: AnswerPart): Promise<void>;
}

export interface IdempotentWork {
  edge: HttpEdge;
  response: ServerResponse;
  request: IdempotentRequest;
  /** Never rejects: a refusal is an answer too. */
  answer(progress: Progress): Promise<HttpAnswer>;
}

/**
 * Does the work of a POST with an Idempotency-Key once, or sends the first answer again. The slot of the key's window is taken first.
 * @throws ApiError rate_limited, conflict, idempotency_mismatch
 */
export async function sendOnce({ edge, response, request, answer }: IdempotentWork): Promise<void> {
  const { call } = request;
  await edge.takeSlot(call);
  const outcome = await edge.idempotency.begin(request);
  setRate(response, call.rate);
  if (await sendReplay(response, outcome)) return;
  if (outcome.kind === 'run') prepareRun(call, outcome.run);
  if (outcome.kind === 'run' || outcome.kind === 'await') call.boundIds = outcome.boundIds;
  const given = await answer(progressOf(outcome));
  if (outcome.kind === 'run') {
    if (edge.idempotency.keeps(call, given)) {
      const { status, headers, body } = given;
      await outcome.run.finish({ status, headers, body: Buffer.isBuffer(body) ? body : Buffer.from(body) });
    } else if (given.part !== undefined) await outcome.run.keepPart(given.part);
    else await outcome.run.abandon(given.errorStatuses?.includes(503) ? 503 : given.status);
    await returnIfRefused(edge, call, given.status);
  }
  // A retry that waited for the first call's job gets that job's answer, which is a replay. A server fault is not stored, so it is never a
  // replay.
  if (outcome.kind === 'await' && given.status < 500) response.setHeader('Idempotent-Replayed', 'true');
  setRate(response, call.rate);
  sendAnswer(response, given);
}

function progressOf(outcome: IdempotencyOutcome): Progress {
  if (outcome.kind !== 'run') return { done: null, note: () => Promise.resolve() };
  return { done: outcome.part, note: (part) => outcome.run.notePart(part) };
}

/**
 * A call takes the slot of the key's window first, and the slot of the endpoint's window later. If the endpoint's window, or the limit of pending
 * jobs, refuses the call, the first slot is returned (decisions 1).
 */
export async function returnIfRefused(edge: HttpEdge, call: CallContext, status: number): Promise<void> {
  if (status === 429 && call.admitted !== true) await edge.returnSlot(call);
}

/** The work of a key goes on when its client leaves, so that a retry gets the whole answer (decisions 6). */
export function prepareRun(call: CallContext, { rowId, unchargedAnswers }: IdempotentRun): void {
  call.idempotencyKey = rowId;
  call.unchargedAnswers = unchargedAnswers;
  call.signal = new AbortController().signal;
}
