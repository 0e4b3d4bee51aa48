import { createServer, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { RateState } from '../../metering/metering.types.js';
import { SlotList } from '../../collections/slot-list.js';
import { createPeerAddress, type AddressSource } from './client-address.js';
import { observed, ObservedRequest } from './observed-request.js';
import { handleProtocolEvents } from './protocol-events.js';
import type { Route } from './protocol-events.js';
import { refuse } from './refuse.js';
import {
  createUnauthenticatedConnections,
  type UnauthenticatedConnections,
} from './unauthenticated-connections.js';
import { createStartupQueue } from './startup-queue.js';
import type { Upgrade } from './startup-queue.js';

/** Time-outs for a request's headers and for the whole request, against clients that send very slowly (slowloris). */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 300_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** A client that reads nothing for this long counts as disconnected, whatever the answer is. */
const STALL_TIMEOUT_MS = 60_000;
const MAX_HEADER_BYTES = 32 * 1024;
/** After a stop signal the process serves on for this long while /readyz answers 503, so that load balancers notice before any request is refused. */
const NOTICE_MS = 400;
/** Idle connections then stay open for this long, so that a request that is already on its way is served and not reset. */
const IDLE_GRACE_MS = 800;
/** An event loop turn this short has accepted all connections that were waiting at its start. */
const QUIET_TURN_MS = 2;
const MAX_TURNS = 100;
/** Answers that are cut short at a stop have this long to send their error, and to store their charges. */
const LAST_WORDS_MS = 2_000;
const DRAIN_CHECK_MS = 50;

/** Matches the absolute form too, which proxies send (RFC 9112, 3.2.2). */
const WEBSOCKET_TARGET = /^(?:https?:\/\/[^/?#]*)?\/graphql(?:\?|$)/;

const SETTINGS: ServerOptions<typeof ObservedRequest> = {
  IncomingMessage: ObservedRequest,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: MAX_HEADER_BYTES,
  // Node's own refusal has no body: ours has.
  requireHostHeader: false,
  // For other requests an upgrade may be declined (Java's HTTP client offers h2c with every request): they are answered by HTTP/1.1.
  shouldUpgradeCallback: ({ method, headers, url = '' }) =>
    method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && WEBSOCKET_TARGET.test(url),
};

export type { Upgrade } from './startup-queue.js';

export interface DrainOptions {
  timeoutMs: number;
  /** Whether upgraded connections (WebSockets) still have work. */
  busy(): boolean;
  /** Called when no new connection is accepted any more: long polls are answered now, and their clients ask another process. */
  leave(): void;
  /** Ends all that still runs when the time is over; answers get a moment to send their error. */
  cut(): void;
}

/** The one HTTP server of a process. It listens before the process opens anything else, so that a port in use ends the start at once. */
export interface HttpServer {
  readonly port: number;
  /** Its connections whose callers have shown no key. */
  readonly unauthenticated: UnauthenticatedConnections;
  /**
   * Passes requests to the given handlers from now on. Earlier requests wait for this call, at most 5 s. `rateOf` gives the rate headers of
   * refusals outside a route.
   */
  serve(route: Route, upgrade: Upgrade, rateOf: (caller: AddressSource) => RateState | null): void;
  /**
   * Serves on for a moment; then accepts no new connections, answers requests on open connections with `Connection: close`, and waits for all
   * answers to end.
   */
  drain(options: DrainOptions): Promise<void>;
  /** Ends every connection. */
  close(): Promise<void>;
}

export interface ListenOptions {
  port: number;
  host: string;
  role: string;
  trustProxy: string[];
}

/** @throws Error EADDRINUSE and other faults of listening */
export async function listen(options: ListenOptions): Promise<HttpServer> {
  const open = new SlotList<ServerResponse>();
  const room = createStartupQueue(options.role);
  let { route }: { route: Route } = room;
  let draining = false;
  let came = 0;
  let rateOf: (caller: AddressSource) => RateState | null = () => null;
  const unauthenticated = createUnauthenticatedConnections();
  const awaitKey = keyAwaiter(unauthenticated, options, (socket) => answersOn(socket).length > 0);
  const answer: Route = (request, response) => {
    observed(request).order = ++came;
    follow(response, { open, unauthenticated, awaitKey });
    if (draining) response.setHeader('Connection', 'close');
    if (request.headers.host === undefined && request.httpVersion !== '1.0')
      return refuse(response, { status: 400, error: 'Host header is required', rate: rateOf(request) });
    route(request, response);
  };
  const server = createServer(SETTINGS, answer);
  const answersOn = (socket: Duplex) => inOrder([...open].filter(({ req }) => req.socket === socket));
  server.on('connection', awaitKey);
  handleProtocolEvents(server, { answer, rateOf: (caller) => rateOf(caller), answersOn });
  // No byte was received or sent for this long. A connection whose answer is still being made is kept open.
  server.setTimeout(STALL_TIMEOUT_MS, (socket) => {
    if (socket.writableLength > 0 || answersOn(socket).length === 0) socket.destroy();
  });
  server.on('upgrade', room.upgrade);
  await startListening(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    unauthenticated,
    serve(next, upgrade, rate) {
      route = next;
      rateOf = rate;
      server.removeAllListeners('upgrade').on('upgrade', upgrade);
      room.open({ route, upgrade });
    },
    async drain({ timeoutMs, busy, leave, cut }) {
      const idle = async () => open.size === 0 && (await connectionsOf(server)) === 0;
      const until = async (deadline: number, isOver: () => boolean | Promise<boolean>) => {
        while (performance.now() < deadline && !(await isOver())) await sleep(DRAIN_CHECK_MS);
      };
      const startedAt = performance.now();
      await until(startedAt + NOTICE_MS, idle);
      await quietTurn();
      stopListening(server);
      draining = true;
      for (const response of open) if (!response.headersSent) response.setHeader('Connection', 'close');
      leave();
      await until(performance.now() + IDLE_GRACE_MS, idle);
      const isOver = () => open.size === 0 && !busy();
      await until(startedAt + timeoutMs, isOver);
      cut();
      for (const response of open) if (!response.req.complete) refuseStopping(response, rateOf(response.req));
      await until(performance.now() + LAST_WORDS_MS, isOver);
    },
    close: () => closeAll(server),
  };
}

async function closeAll(server: Server): Promise<void> {
  stopListening(server);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/** Follows a request to the end of its answer. During that time its connection does not count as unauthenticated. */
function follow(
  response: ServerResponse,
  {
    open,
    unauthenticated,
    awaitKey,
  }: {
    open: SlotList<ServerResponse>;
    unauthenticated: UnauthenticatedConnections;
    awaitKey(socket: Socket): void;
  },
): void {
  const { req: request } = response;
  const { socket } = request;
  unauthenticated.leave(socket);
  const place = open.insert(response);
  response.on('close', () => {
    open.remove(place);
    if (observed(request).call === null && !socket.destroyed) awaitKey(socket);
  });
}

/** Counts a connection among the unauthenticated ones; one that is dropped may have been asked something in that moment, and is spared. */
function keyAwaiter(
  unauthenticated: UnauthenticatedConnections,
  { trustProxy }: ListenOptions,
  isBusy: (socket: Socket) => boolean,
): (socket: Socket) => void {
  const addressOf = createPeerAddress(trustProxy);
  const leave = function (this: Socket) {
    unauthenticated.leave(this);
  };
  return (socket) => {
    unauthenticated.add(socket, {
      address: addressOf(socket),
      drop: () => void (isBusy(socket) || socket.destroy()),
    });
    socket.off('close', leave).on('close', leave);
  };
}

function startListening(server: Server, { port, host }: { port: number; host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Refuses a request that still arrives when the process cannot wait any longer. */
function refuseStopping(response: ServerResponse, rate: RateState | null): void {
  if (response.headersSent) return;
  refuse(response, { status: 503, error: 'Service temporarily unavailable', retryAfter: 1, rate });
}

function inOrder(answers: ServerResponse[]): ServerResponse[] {
  return answers.sort((one, other) => observed(one.req).order - observed(other.req).order);
}

/**
 * Connections that are not accepted yet are reset when listening ends. So the process stops listening in a quiet turn, right after the event loop
 * has accepted all waiting connections.
 */
async function quietTurn(): Promise<void> {
  await nextTurn();
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const startedAt = performance.now();
    await nextTurn();
    if (performance.now() - startedAt < QUIET_TURN_MS) return;
  }
}

/** Stops listening without http.Server's `close`, which would close idle connections at once and lose requests that are on their way. */
function stopListening(server: Server): void {
  if (server.listening) NetServer.prototype.close.call(server);
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count ?? 0)));
}
