import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../src/contract/errors.js';
import { rateFor, sendAnswer, setRate } from '../../src/http/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import { runOperation } from './operation.js';
import type { GraphqlSseDependencies } from './sse.js';
import { ownerOf, SseConnection } from './sse-connection.js';
import type { ConnectionSlot } from './sse-connection.js';
import { methodNotAllowed, readOperation, refuseWhole } from './sse-request.js';

const TOKEN_HEADER = 'x-graphql-event-stream-token';

/** Whether a request belongs to the single connection mode: a reservation, its event stream, or an operation of it. */
export function isOfSingleConnection({ method, headers, url = '' }: IncomingMessage): boolean {
  return method === 'PUT' || headers[TOKEN_HEADER] !== undefined || tokenIn(url) !== null;
}

/** `EventSource` cannot send headers, so the token may be in the address. */
const tokenIn = (url: string): string | null => searchOf(url).get('token');

const searchOf = (url: string): URLSearchParams =>
  new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');

/** The event streams of this process in graphql-sse's single connection mode. */
export interface SingleConnections {
  /** Answers a request of that mode. @returns false if it is not one @throws ApiError */
  serve(request: IncomingMessage, response: ServerResponse, call: CallContext): Promise<boolean>;
}

export function createSingleConnections(dependencies: GraphqlSseDependencies): SingleConnections {
  const { edge, streams, draining } = dependencies;
  const connections = new Map<string, SseConnection>();

  const reserve = (call: CallContext): SseConnection => {
    if (draining.aborted) throw new ApiError('unavailable', 'The server is stopping', { retryAfter: 1 });
    streams.open(call);
    const leave = streams.hold(call.principal);
    const connection = new SseConnection(ownerOf(call.principal), draining, () => {
      connections.delete(connection.token);
      leave();
    });
    connections.set(connection.token, connection);
    return connection;
  };

  const find = ({ headers, url = '' }: IncomingMessage, { principal }: CallContext): SseConnection => {
    const found = connections.get(String(headers[TOKEN_HEADER] ?? tokenIn(url)));
    if (found?.owner !== ownerOf(principal)) throw new ApiError('not_found', 'Event stream not found');
    return found;
  };

  const answer = async (response: ServerResponse, call: CallContext, [status, body]: [number, string]) => {
    setRate(response, call.rate ?? (await rateFor(edge, call)));
    sendAnswer(response, { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body });
  };

  return {
    async serve(request, response, call) {
      if (!isOfSingleConnection(request)) return false;
      const { method, url = '', headers } = request;
      if (method === 'PUT') {
        await answer(response, call, [201, reserve(call).token]);
        return true;
      }
      const connection = find(request, call);
      if (method === 'DELETE') {
        connection.stop(searchOf(url).get('operationId') ?? '');
        await answer(response, call, [200, '']);
      } else if (method === 'GET' && headers.accept?.includes('text/event-stream') === true) {
        setRate(response, await rateFor(edge, call));
        connection.open(response);
      } else if (method === 'GET' || method === 'POST') {
        await begin(dependencies, { request, response, call, connection, answer });
      } else throw methodNotAllowed('GET, POST, PUT, DELETE');
      return true;
    },
  };
}

interface Beginning {
  request: IncomingMessage;
  response: ServerResponse;
  call: CallContext;
  connection: SseConnection;
  answer(response: ServerResponse, call: CallContext, answer: [number, string]): Promise<void>;
}

/** Accepts an operation: its request is answered at once, and its results come by the event stream. */
async function begin(dependencies: GraphqlSseDependencies, beginning: Beginning): Promise<void> {
  const { engine, edge } = dependencies;
  const { request, response, call, connection, answer } = beginning;
  const body = edge.body(request, call);
  let slot: ConnectionSlot | null = null;
  try {
    const { operation, operationId } = await readOperation(dependencies, request, { body, call });
    slot = connection.add(operationId);
    call.signal = slot.signal;
    await engine.takeSlot(call, operation);
    refuseWhole(dependencies, { request: operation, response, call });
    await answer(response, call, [202, '']);
    const { byteReservation } = body;
    const { sink, onResumable } = slot;
    const run = { ...dependencies, call, request: operation, byteReservation, sink, onResumable };
    await runOperation(run);
  } finally {
    slot?.end();
    body.release();
  }
}
