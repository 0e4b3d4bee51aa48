import { createServer, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { RateState } from '../../metering/metering.types.js';
import { SlotList } from '../../collections/slot-list.js';
import { createPeerAddress, type Addressed } from './client-address.js';
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

/** Time for the headers of a request, and for its whole; a client that dribbles is let go (slowloris). */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 300_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** A reader that accepts nothing for so long counts as gone, whatever it is that he does not read. */
const STALL_TIMEOUT_MS = 60_000;
const MAX_HEADER_BYTES = 32 * 1024;
/** How long a stopping process goes on as before: /readyz says no, and who balances learns of it before anybody is turned away. */
const NOTICE_MS = 400;
/** How long it then still answers on idle connections: a request on its way there is served, not reset. */
const IDLE_GRACE_MS = 800;
/** A turn of the event loop so short that hardly anybody can have come since its look at the listener. */
const QUIET_TURN_MS = 2;
const MAX_TURNS = 100;
/** How long answers that were cut short have to say so, and their charges to reach the disk. */
const LAST_WORDS_MS = 2_000;
const DRAIN_CHECK_MS = 50;

/** A proxy's absolute form names the same resource. */
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
  // Elsewhere an upgrade is an offer that may be declined (Java's clients make one, of h2c, with every request): the answer is HTTP/1.1.
  shouldUpgradeCallback: ({ method, headers, url = '' }) =>
    method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && WEBSOCKET_TARGET.test(url),
};

export type { Upgrade } from './startup-queue.js';

export interface DrainOptions {
  timeoutMs: number;
  /** Whether something besides answers is under way (on connections that were upgraded). */
  busy(): boolean;
  /** Called once nobody new is accepted: who only waits is answered now, and asks again elsewhere. */
  leave(): void;
  /** Ends what is under way after the time; it gets a moment for its last words. */
  cut(): void;
}

/** The one HTTP server of a process. It listens before anything else is touched, so that a taken port ends the start at once. */
export interface HttpServer {
  readonly port: number;
  /** Its connections whose callers have shown no key. */
  readonly unauthenticated: UnauthenticatedConnections;
  /** From now on requests go there; those that came before wait for it, 5 s at most. `rateOf`: what refusals that reach no route tell of the caller's window. */
  serve(route: Route, upgrade: Upgrade, rateOf: (caller: Addressed) => RateState | null): void;
  /**
   * Goes on for a moment; then accepts nobody new, answers what comes on open connections with `Connection: close`, and waits for all
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
  let rateOf: (caller: Addressed) => RateState | null = () => null;
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
  // Nothing came and nothing went for so long. Whose answer is still being made waits for it, in silence.
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

/** From a request to the end of its answer: meanwhile its connection waits for nothing. */
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
    unauthenticated.enter(socket, {
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

/** Whose request is still on its way when the process cannot wait any longer. */
function refuseStopping(response: ServerResponse, rate: RateState | null): void {
  if (response.headersSent) return;
  refuse(response, { status: 503, error: 'Service temporarily unavailable', retryAfter: 1, rate });
}

function inOrder(answers: ServerResponse[]): ServerResponse[] {
  return answers.sort((one, other) => observed(one.req).order - observed(other.req).order);
}

/** Who has connected and was not accepted yet is reset when listening ends: so it ends right after a look, in a turn with little to do. */
async function quietTurn(): Promise<void> {
  await nextTurn();
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const startedAt = performance.now();
    await nextTurn();
    if (performance.now() - startedAt < QUIET_TURN_MS) return;
  }
}

/** http.Server's own `close` ends idle connections at once, and with them requests that are on their way. */
function stopListening(server: Server): void {
  if (server.listening) NetServer.prototype.close.call(server);
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count ?? 0)));
}
