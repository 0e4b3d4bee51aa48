import type { IncomingMessage, ServerResponse } from 'node:http';
import { getOperationAST, type GraphQLFormattedError } from 'graphql';
import { errorExtensions, graphqlParamOf, parseGraphqlRequest } from '../../schema/index.js';
import { ApiError, invalid } from '../../src/contract/errors.js';
import type { ByteReservation, HttpEdge, RequestBody } from '../../src/http/index.js';
import {
  discardBody,
  errorHeaders,
  rateFor,
  untilDrained,
  sendAnswer,
  setRate,
  visibleError,
} from '../../src/http/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import type { StreamLimits } from '../../src/metering/index.js';
import { runOperation } from './operation.js';
import type { OperationEngine, OperationRequest, OperationSink } from './operation.types.js';
import type { SharedResults } from './shared-results.js';

const BODY_LIMIT_BYTES = 60 * 1024 * 1024;
const PING_INTERVAL_MS = 15_000;
const STALL_TIMEOUT_MS = 60_000;

export interface GraphqlSseDependencies {
  edge: HttpEdge;
  engine: OperationEngine;
  shared: SharedResults;
  streams: StreamLimits;
  /** Fires when the process stops: streams that can be resumed end then. */
  draining: AbortSignal;
}

/** GraphQL over Server-Sent Events: the distinct connections of the graphql-sse protocol, for any operation. */
export type GraphqlSseHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function createGraphqlSseHandler(dependencies: GraphqlSseDependencies): GraphqlSseHandler {
  const { edge } = dependencies;
  const stream = createOperationStream(dependencies);
  return async (request, response) => {
    let call: CallContext | null = null;
    let body: RequestBody | null = null;
    try {
      call = await edge.open(request, response, {
        from: 'sessions',
        isEventStream: request.method === 'GET',
      });
      const { 'last-event-id': lastEventId } = request.headers;
      if (typeof lastEventId === 'string' && lastEventId !== '') call.lastEventId = lastEventId;
      body = edge.body(request, call);
      const operation = await readOperation(dependencies, request, { body, call });
      await stream({ request: operation, response, call, byteReservation: body.byteReservation });
    } catch (fault) {
      const error = visibleError(edge, fault, call?.requestId ?? '');
      setRate(response, await rateFor(edge, call, fault));
      discardBody(request);
      const errors = [{ message: error.message, extensions: errorExtensions(error) }];
      const headers = { 'content-type': 'application/json; charset=utf-8', ...errorHeaders(error) };
      sendAnswer(response, { status: error.status, headers, body: JSON.stringify({ errors }) });
    } finally {
      body?.release();
    }
  };
}

/** The parts of its request that an operation keeps, because the stream may stay open for days. */
async function readOperation(
  { engine }: GraphqlSseDependencies,
  request: IncomingMessage,
  { body, call }: { body: RequestBody; call: CallContext },
): Promise<OperationRequest> {
  const operation = parseGraphqlRequest(await readSource(request, body));
  const { query, operationName, variables } = await engine.resolve(operation, call.principal);
  return { query, operationName, variables };
}

async function readSource(
  request: IncomingMessage,
  body: RequestBody,
): Promise<{ query: string } | { json: unknown }> {
  const { method = 'GET', url = '/' } = request;
  if (method === 'GET') return { query: url.includes('?') ? url.slice(url.indexOf('?') + 1) : '' };
  if (method !== 'POST') throw methodNotAllowed('GET, POST');
  return { json: await body.parseJson(BODY_LIMIT_BYTES, graphqlParamOf) };
}

/**
 * A document over a limit, a mutation by GET and one with an Idempotency-Key are refused with their status. Errors of parsing and validation go
 * into the stream, as the protocol says.
 */
function refuseWhole(
  { engine }: GraphqlSseDependencies,
  { request: operation, call, response }: OperationStreaming,
): void {
  const { method, headers } = response.req;
  const prepared = engine.prepare(operation);
  if ('errors' in prepared) {
    const refused = prepared.errors.find((error) => error.extensions['refused'] === true);
    if (refused) throw new ApiError('invalid_request', refused.message);
    return;
  }
  const kind = getOperationAST(prepared.document, operation.operationName ?? null)?.operation;
  if (method === 'GET' && kind === 'mutation') throw methodNotAllowed('POST');
  // The key is for mutations, and this answer is not kept.
  if (kind === 'mutation' && headers['idempotency-key'] !== undefined)
    throw invalid('An event stream of GraphQL takes no Idempotency-Key', 'Idempotency-Key');
  // Over plain http browsers do not say which page sends a GET. So with a cookie it may only read, and is never charged.
  const isTold = call.principal.person === undefined || headers['sec-fetch-site'] !== undefined;
  if (method === 'GET' && kind === 'subscription' && !isTold && !engine.watches(operation))
    throw new ApiError('forbidden', 'Origin not allowed');
}

/** A GET may be repeated, and any program may follow a link, so it must change nothing. */
function methodNotAllowed(allow: string): ApiError {
  return new ApiError('method_not_allowed', 'Method not allowed', { headers: { allow } });
}

/** An operation whose request was read, with the sink for its events. */
export interface OperationStreaming {
  request: OperationRequest;
  response: ServerResponse;
  call: CallContext;
  /** The request's share of the byte budget. */
  byteReservation: ByteReservation;
}

/**
 * Takes an operation's place and slot, runs it, and sends its results as they come. Ends with the operation, or with its reader.
 * The promise rejects with an ApiError if the whole request is refused.
 */
export function createOperationStream(
  dependencies: GraphqlSseDependencies,
): (streaming: OperationStreaming) => Promise<void> {
  const { engine, streams } = dependencies;
  return async (streaming) => {
    const { request, call } = streaming;
    const leave = streams.hold(call.principal);
    try {
      await engine.takeSlot(call, request);
      refuseWhole(dependencies, streaming);
      await stream(dependencies, streaming);
    } finally {
      leave();
    }
  };
}

async function stream(dependencies: GraphqlSseDependencies, streaming: OperationStreaming): Promise<void> {
  const { draining, edge } = dependencies;
  const { request, response, call, byteReservation } = streaming;
  const rate = await rateFor(edge, call);
  // Set with the first output: before that it is not known which window the operation counts against.
  const open = () => {
    if (response.headersSent || response.destroyed) return;
    setRate(response, call.rate ?? rate);
    response.writeHead(200, SSE_HEADERS);
    response.flushHeaders();
  };
  const end = () => response.destroy();
  const ping = setInterval(() => {
    open();
    if (!response.writableNeedDrain) response.write(':\n\n');
  }, PING_INTERVAL_MS);
  const onResumable = () => {
    open();
    if (draining.aborted) end();
    else draining.addEventListener('abort', end, { once: true });
  };
  try {
    const sink = createSink(response, open);
    await runOperation({ ...dependencies, call, request, byteReservation, sink, onResumable });
  } finally {
    clearInterval(ping);
    draining.removeEventListener('abort', end);
  }
}

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};
const NEXT = Buffer.from('event: next\ndata: ');
const EVENT_END = Buffer.from('\n\n');

function createSink(response: ServerResponse, open: () => void): OperationSink {
  const write = (event: Buffer) => {
    open();
    if (response.destroyed || response.write(event)) return;
    return room(response);
  };
  const complete = () => {
    open();
    response.end('event: complete\ndata: \n\n');
  };
  return {
    next: (result, place) =>
      write(
        Buffer.concat([
          ...(place === undefined ? [] : [Buffer.from(`id: ${place}\n`)]),
          NEXT,
          result,
          EVENT_END,
        ]),
      ),
    error(errors: readonly GraphQLFormattedError[]) {
      open();
      response.write(`event: next\ndata: ${JSON.stringify({ errors })}\n\n`);
      complete();
    },
    complete,
    stalled: () => void response.destroy(),
  };
}

/** A reader that accepts nothing for a minute counts as gone (decisions 6). */
async function room(response: ServerResponse): Promise<void> {
  const timer = setTimeout(() => response.destroy(), STALL_TIMEOUT_MS);
  await untilDrained(response);
  clearTimeout(timer);
}
