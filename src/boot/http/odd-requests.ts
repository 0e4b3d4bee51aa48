import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { sendFault, whenBodyIsWanted, writeFault } from '../../http/index.js';
import type { RateState } from '../../metering/metering.types.js';
import type { Addressed } from './client-address.js';

export type Route = (request: IncomingMessage, response: ServerResponse) => void;

export interface OddityOptions {
  answer: Route;
  /** The window of a caller's address; null where the process serves no API (yet). */
  rateOf(caller: Addressed): RateState | null;
  /** Whether an answer has begun on a connection. */
  answersOn(socket: Duplex): boolean;
}

/** Requests that Node hands over apart from others, or refuses without a body. */
export function answerOddities(server: Server, { answer, rateOf, answersOn }: OddityOptions): void {
  const rate = (socket: Duplex): RateState | null => rateOf({ socket, headers: {} });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // In the middle of an answer another one would be taken for a part of it.
    if (error.code === 'ECONNRESET' || !socket.writable || answersOn(socket)) return void socket.destroy();
    const [status, text] = CLIENT_FAULTS[error.code ?? ''] ?? ([400, 'Bad request'] as const);
    writeFault(socket, { status, error: text, rate: rate(socket) });
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
    sendFault(response, { status: 417, error: 'Expectation failed', rate: rateOf(request) }),
  );
  server.on('connect', (_request, socket: Duplex) =>
    writeFault(socket, { status: 405, error: 'Method not allowed', rate: rate(socket) }),
  );
}

const CLIENT_FAULTS: Record<string, [status: number, error: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request headers too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Request body too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request timeout'],
};
