import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { newId } from '../ids.js';
import type { RateState } from '../metering/metering.types.js';

/** A refusal of what never reaches a route. */
export interface BareFault {
  status: number;
  error: string;
  /** Default: the one of the status. */
  code?: string;
  /** Whole seconds. */
  retryAfter?: number;
  /** The address's window, where the process serves the API. */
  rate?: RateState | null;
}

const CODES: Record<number, string> = {
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  429: 'rate_limited',
  503: 'unavailable',
};

/** The body, and the headers that every answer carries (contract 7.1 and 8.1, decisions.md 4). */
function whole({ status, error, code = CODES[status] ?? 'invalid_request', retryAfter, rate }: BareFault) {
  const body = JSON.stringify({ error, code, ...(retryAfter === undefined ? {} : { retryAfter }) });
  const headers: Record<string, string> = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': newId('req'),
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...(rate && {
      'X-RateLimit-Limit': String(rate.limit),
      'X-RateLimit-Remaining': String(rate.remaining),
      'X-RateLimit-Reset': String(rate.reset),
    }),
    Connection: 'close',
  };
  return { body, headers };
}

export function sendFault(response: ServerResponse, fault: BareFault): void {
  const { body, headers } = whole(fault);
  response.writeHead(fault.status, headers).end(body);
}

/** The same where Node made no response. */
export function writeFault(socket: Duplex, fault: BareFault): void {
  socket.on('error', () => socket.destroy());
  const { body, headers } = whole(fault);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const { status } = fault;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}
