import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import type { RateState } from '../metering/metering.types.js';

/** The refusal of a request that never reaches a route. */
export interface FaultResponse {
  status: number;
  error: string;
  /** Default: the error code that belongs to the status. */
  code?: ErrorCode;
  /** Whole seconds. */
  retryAfter?: number;
  /** The address's window, where the process serves the API. */
  rate?: RateState | null;
  /** Further headers that the status or the protocol requires, such as `Allow`. */
  headers?: Record<string, string>;
  /** Builds the body where the requested address has an error format of its own. */
  bodyOf?(error: ApiError, requestId: string): unknown;
}

const CODES: Record<number, ErrorCode> = {
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  429: 'rate_limited',
  503: 'unavailable',
};

/** The body, and the headers that every answer carries (contract 7.1 and 8.1, decisions 4). */
function whole({ status, error, code = CODES[status] ?? 'invalid_request', ...more }: FaultResponse) {
  const { retryAfter, rate, bodyOf } = more;
  const requestId = newId('req');
  const details = retryAfter === undefined ? {} : { retryAfter };
  const shown = { error, code, ...details };
  const body = JSON.stringify(bodyOf ? bodyOf(new ApiError(code, error, details), requestId) : shown);
  const headers: Record<string, string> = {
    ...more.headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
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

export function sendFault(response: ServerResponse, fault: FaultResponse): void {
  const { body, headers } = whole(fault);
  response.writeHead(fault.status, headers).end(body);
}

/** A refused client has this long to read the refusal and to close the connection. */
const LAST_MOMENT_MS = 2_000;

/**
 * Sends a refusal on a bare socket, where Node made no response object. Further input is read and discarded: a TCP reset would destroy the
 * refusal on its way.
 */
export function writeFault(socket: Duplex, fault: FaultResponse): void {
  socket.on('error', () => socket.destroy());
  const cut = setTimeout(() => socket.destroy(), LAST_MOMENT_MS);
  socket.once('close', () => clearTimeout(cut)).resume();
  const { body, headers } = whole(fault);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const { status } = fault;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}
