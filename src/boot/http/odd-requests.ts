import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { whenBodyIsWanted } from '../../http/index.js';
import { newId } from '../../ids.js';

export type Route = (request: IncomingMessage, response: ServerResponse) => void;

/** Requests that Node hands over apart from others, or refuses without a body. */
export function answerOddities(server: Server, answer: Route): void {
  server.on('clientError', answerClientError);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // A refusal before the body leaves open whether it still comes: nothing may follow on this connection.
    response.setHeader('Connection', 'close');
    whenBodyIsWanted(request, () => {
      if (server.listening) response.removeHeader('Connection');
      response.writeContinue();
    });
    answer(request, response);
  });
  server.on('checkExpectation', (_request, response: ServerResponse) =>
    sendFault(response, 417, 'Expectation failed'),
  );
  server.on('connect', (_request, socket: Duplex) => writeFault(socket, 405, 'Method not allowed'));
}

const CODES: Record<number, string> = { 405: 'method_not_allowed', 503: 'unavailable' };
const faultBody = (status: number, error: string): string =>
  JSON.stringify({ error, code: CODES[status] ?? 'invalid_request' });

/** For what never reaches a route. */
export function sendFault(response: ServerResponse, status: number, error: string): void {
  const body = faultBody(status, error);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...(status === 503 ? { 'retry-after': '1' } : {}),
    'x-request-id': newId('req'),
    connection: 'close',
  });
  response.end(body);
}

/** The same where Node made no response. */
export function writeFault(socket: Duplex, status: number, error: string): void {
  socket.on('error', () => socket.destroy());
  const body = faultBody(status, error);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${newId('req')}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const CLIENT_FAULTS: Record<string, [status: number, error: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request headers too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request timeout'],
};

/** What is no HTTP gets one plain answer. */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  writeFault(socket, ...(CLIENT_FAULTS[error.code ?? ''] ?? ([400, 'Bad request'] as const)));
}
