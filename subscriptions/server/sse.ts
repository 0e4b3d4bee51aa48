import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLFormattedError } from 'graphql';
import { errorExtensions } from '../../schema/index.js';
import type { ByteReservation, HttpEdge, RequestBody } from '../../src/http/index.js';
import {
  discardBody,
  errorHeaders,
  rateFor,
  sendAnswer,
  setRate,
  visibleError,
} from '../../src/http/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import type { StreamLimits } from '../../src/metering/index.js';
import { runOperation } from './operation.js';
import type { OperationEngine, OperationSink } from './operation.types.js';
import type { SharedResults } from './shared-results.js';
import { eventOf, room, SSE_HEADERS } from './sse-events.js';
import { readOperation, refuseWhole } from './sse-request.js';
import type { ReadRequest } from './sse-request.js';
import { createSingleConnections } from './sse-single.js';

const PING_INTERVAL_MS = 15_000;

export interface GraphqlSseDependencies {
  edge: HttpEdge;
  engine: OperationEngine;
  shared: SharedResults;
  streams: StreamLimits;
  /** Fires when the process stops: streams that can be resumed end then. */
  draining: AbortSignal;
}

/** GraphQL over Server-Sent Events, for any operation: both modes of the graphql-sse protocol. */
export type GraphqlSseHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function createGraphqlSseHandler(dependencies: GraphqlSseDependencies): GraphqlSseHandler {
  const { edge } = dependencies;
  const stream = createOperationStream(dependencies);
  const single = createSingleConnections(dependencies);
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
      if (await single.serve(request, response, call)) return;
      body = edge.body(request, call);
      const { operation } = await readOperation(dependencies, request, { body, call });
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

/** An operation whose request was read. */
export interface OperationStreaming extends ReadRequest {
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
    next: (result, place) => write(eventOf('next', result, place)),
    error(errors: readonly GraphQLFormattedError[]) {
      open();
      response.write(`event: next\ndata: ${JSON.stringify({ errors })}\n\n`);
      complete();
    },
    complete,
    stalled: () => void response.destroy(),
  };
}
