import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { handleProtocols } from 'graphql-ws';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';
import { writeFault, type FaultResponse } from '../../src/http/index.js';
import type { RateState } from '../../src/metering/metering.types.js';
import type { ClientInfo } from '../../src/contract/words.js';
import { Connection, GOING_AWAY, type ConnectionDependencies } from './connection.js';
import { Turn } from './outgoing.js';
import { createProtocol } from './protocol.js';

const MAX_MESSAGE_BYTES = 256 * 1024;
const CHECK_INTERVAL_MS = 2_500;
/** RFC 6455, 4.4: a client with another version tries again with this one. */
const SPOKEN_VERSIONS = { 'Sec-WebSocket-Version': '13, 8' };
const STALL_TIMEOUT_MS = 15_000;

export interface GraphqlWsDependencies extends Omit<
  ConnectionDependencies,
  'refused' | 'turn' | 'keyShown' | 'protocol'
> {
  /** Whether a page of this origin may connect although its browser sends a cookie. */
  allowsOrigin(origin: string, request: IncomingMessage): boolean;
  /** The session of a signed-in browser, if the page belongs to this installation (beyond 14.2). */
  sessionOf(request: IncomingMessage): string | undefined;
  /** Its credential in the form of an `Authorization` header; the upgrade may have a client token in its query (beyond 14.1). */
  authorizationOf(request: IncomingMessage): string | undefined;
  clientOf(request: IncomingMessage): ClientInfo;
  /** The client's address, according to TRUST_PROXY. */
  addressOf(request: IncomingMessage): string;
  tagsHeaderOf(request: IncomingMessage): string | undefined;
  /** The address's window, for the headers of a refused upgrade. */
  addressRate(request: IncomingMessage): RateState;
  /** Counts a connection without a key; `drop` is called if there are too many. */
  awaitKey(request: IncomingMessage, stream: Duplex, drop: () => void): void;
  /** The connection has a valid key: it is no longer counted. */
  keyShown(stream: Duplex): void;
  /** Counts a refused key against the client's address. False if the address has sent too many already. */
  refusedAddress(address: string): boolean;
  /** How long a client may accept nothing, default 15 s. */
  stallTimeoutMs?: number;
}

/** GraphQL over WebSocket at one path of an HTTP server. */
export interface GraphqlWsServer {
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  readonly connections: number;
  /** Whether a connection runs an operation that cannot be resumed elsewhere. */
  readonly busy: boolean;
  /** Ends operations that clients can resume, and lets the others finish. */
  drain(): void;
  /** Closes every connection (1001). */
  close(): Promise<void>;
}

const SETTINGS: ServerOptions = {
  noServer: true,
  maxPayload: MAX_MESSAGE_BYTES,
  perMessageDeflate: false,
  clientTracking: false,
  // One message in each turn of the event loop: many that arrive together would block other connections.
  allowSynchronousEvents: false,
  handleProtocols,
};

export function createGraphqlWsServer(dependencies: GraphqlWsDependencies): GraphqlWsServer {
  const server = new WebSocketServer(SETTINGS);
  server.on('wsClientError', ({ message }: Error, socket: Duplex, request: IncomingMessage) => {
    const rate = dependencies.addressRate(request);
    writeFault(socket, { status: 400, error: message, rate, headers: SPOKEN_VERSIONS });
  });
  const turn = new Turn();
  const protocol = createProtocol();
  const connections = new Map<WebSocket, Connection>();
  const stallTimeoutMs = dependencies.stallTimeoutMs ?? STALL_TIMEOUT_MS;
  const timer = setInterval(() => {
    for (const connection of [...connections.values()]) connection.check(performance.now(), stallTimeoutMs);
  }, CHECK_INTERVAL_MS).unref();
  const accept = (socket: WebSocket, stream: Duplex, request: IncomingMessage) => {
    const { traceparent } = request.headers;
    const authorization = dependencies.authorizationOf(request);
    const origin = {
      authorization,
      session: dependencies.sessionOf(request),
      traceparent: typeof traceparent === 'string' ? traceparent : undefined,
      client: dependencies.clientOf(request),
      address: dependencies.addressOf(request),
      tagsHeader: dependencies.tagsHeaderOf(request),
    };
    const refused = () => dependencies.refusedAddress(origin.address);
    const keyShown = () => dependencies.keyShown(stream);
    const own = { ...dependencies, protocol, turn, refused, keyShown };
    const connection = new Connection(socket, stream, origin, own);
    connections.set(socket, connection);
    socket.on('close', () => connections.delete(socket));
    dependencies.awaitKey(request, stream, () => connection.drop());
  };
  return {
    handleUpgrade(request, socket, head) {
      const refusal = refusalOf(request, dependencies);
      if (refusal) return writeFault(socket, { ...refusal, rate: dependencies.addressRate(request) });
      server.handleUpgrade(request, socket, head, (webSocket) => accept(webSocket, socket, request));
    },
    get connections() {
      return connections.size;
    },
    get busy() {
      for (const connection of connections.values()) if (connection.busy) return true;
      return false;
    },
    drain() {
      for (const connection of [...connections.values()]) connection.drain();
    },
    async close() {
      clearInterval(timer);
      const sockets = [...connections.entries()];
      for (const [, connection] of sockets) connection.close(GOING_AWAY, 'Going away');
      await settled(sockets.map(([socket]) => socket));
    },
  };
}

/**
 * A page of another origin must not use a person's cookie. Keys in the init payload may come from any origin. The address's window does not limit
 * upgrades: browsers send their key later, and a valid key is not refused because of its neighbours' bad keys.
 */
function refusalOf(request: IncomingMessage, dependencies: GraphqlWsDependencies): FaultResponse | null {
  const { origin, cookie } = request.headers;
  const isForeign =
    origin !== undefined && cookie !== undefined && !dependencies.allowsOrigin(origin, request);
  return isForeign ? { status: 403, error: 'Origin not allowed' } : null;
}

const CLOSE_WAIT_MS = 1_000;

/** Waits for the close handshakes, but not for clients that do not answer. */
async function settled(sockets: WebSocket[]): Promise<void> {
  const open = sockets.filter((socket) => socket.readyState !== socket.CLOSED);
  if (open.length === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_WAIT_MS);
  });
  const closed = open.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
  await Promise.race([late, Promise.all(closed)]);
  clearTimeout(timer);
  for (const socket of open) socket.terminate();
}
