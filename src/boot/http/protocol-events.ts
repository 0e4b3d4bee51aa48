import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { beforeBodyRead, writeFault } from '../../http/index.js';
import type { RateState } from '../../metering/metering.types.js';
import type { AddressSource } from './client-address.js';
import { refuse } from './refuse.js';

export type Route = (request: IncomingMessage, response: ServerResponse) => void;

export interface ProtocolEventOptions {
  answer: Route;
  /** The rate window of a caller's address; null while the process serves no API. */
  rateOf(caller: AddressSource): RateState | null;
  /** The unfinished responses of a connection, in the order of their requests. */
  answersOn(socket: Duplex): ServerResponse[];
}

/** Handles the requests that Node reports by other events than `request`, or would refuse without a body. */
export function handleProtocolEvents(
  server: Server,
  { answer, rateOf, answersOn }: ProtocolEventOptions,
): void {
  const rate = (socket: Duplex): RateState | null => rateOf({ socket, headers: {} });
  const ending = new WeakSet<Duplex>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    // Every further part of the malformed input emits this event again.
    if (!socket.writable || ending.has(socket)) return;
    ending.add(socket);
    const [status, text] = CLIENT_FAULTS[error.code ?? ''] ?? ([400, 'Bad request'] as const);
    endAfterAnswers(socket, answersOn, () => writeFault(socket, { status, error: text, rate: rate(socket) }));
  });
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // After a refusal before the body, the client may or may not send the body. So no other request may follow on this connection.
    response.setHeader('Connection', 'close');
    beforeBodyRead(request, () => {
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

/** Complete requests are carried out and charged, so their answers are sent first and in full. The incomplete request is refused after them. */
function endAfterAnswers(
  socket: Duplex,
  answersOn: ProtocolEventOptions['answersOn'],
  refuse: () => void,
): void {
  if (socket.destroyed) return;
  const answers = answersOn(socket);
  const last = answers.findLast(({ req, writableEnded }) => req.complete || writableEnded);
  if (last === undefined) {
    // Inside a running answer, the refusal would be read as a part of that answer.
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
