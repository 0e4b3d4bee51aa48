import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { whenBodyIsWanted, writeFault } from '../../http/index.js';
import type { RateState } from '../../metering/metering.types.js';
import type { Addressed } from './client-address.js';
import { refuse } from './refuse.js';

export type Route = (request: IncomingMessage, response: ServerResponse) => void;

export interface ProtocolEventOptions {
  answer: Route;
  /** The window of a caller's address; null where the process serves no API (yet). */
  rateOf(caller: Addressed): RateState | null;
  /** What is asked on a connection and not answered to its end, in the order in which it came. */
  answersOn(socket: Duplex): ServerResponse[];
}

/** Requests that Node hands over apart from others, or refuses without a body. */
export function handleProtocolEvents(
  server: Server,
  { answer, rateOf, answersOn }: ProtocolEventOptions,
): void {
  const rate = (socket: Duplex): RateState | null => rateOf({ socket, headers: {} });
  const ending = new WeakSet<Duplex>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    // Every further part of what is not understood comes here too.
    if (!socket.writable || ending.has(socket)) return;
    ending.add(socket);
    const [status, text] = CLIENT_FAULTS[error.code ?? ''] ?? ([400, 'Bad request'] as const);
    endAfterAnswers(socket, answersOn, () => writeFault(socket, { status, error: text, rate: rate(socket) }));
  });
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // A refusal before the body leaves open whether it still comes: nothing may follow on this connection.
    response.setHeader('Connection', 'close');
    whenBodyIsWanted(request, () => {
      if (server.listening) response.removeHeader('Connection');
      response.writeContinue();
    });
    answer(request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    refuse(response, { status: 417, error: 'Expectation failed', rate: rateOf(request) }),
  );
  server.on('connect', (_request, socket: Duplex) =>
    writeFault(socket, {
      status: 405,
      error: 'Method not allowed',
      rate: rate(socket),
      headers: { Allow: METHODS },
    }),
  );
}

/** What was asked in full is carried out and charged: its answers come first and whole. What was asked in part is refused after them. */
function endAfterAnswers(
  socket: Duplex,
  answersOn: ProtocolEventOptions['answersOn'],
  refuse: () => void,
): void {
  if (socket.destroyed) return;
  const answers = answersOn(socket);
  const last = answers.findLast(({ req, writableEnded }) => req.complete || writableEnded);
  if (last === undefined) {
    // In the middle of an answer another one would be taken for a part of it.
    if (answers.some(({ headersSent }) => headersSent)) socket.destroy();
    else refuse();
  } else if (last === answers.at(-1)) {
    if (!last.headersSent) last.setHeader('Connection', 'close');
    last.once('close', () => socket.end(() => socket.destroy()));
  } else last.once('close', () => endAfterAnswers(socket, answersOn, refuse));
}

const METHODS = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT';

const CLIENT_FAULTS: Record<string, [status: number, error: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request headers too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Request body too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request timeout'],
};
