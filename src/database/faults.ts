import { ApiError } from '../contract/errors.js';

/** How long a call waits for PostgreSQL before it is refused (decisions 9). */
export const UNAVAILABLE_AFTER_MS = 5000;

const SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Shutting down, crashed, starting up, ended while idle, too many connections. */
const SQL_STATES = new Set([
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '53300',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
  // A server that is there and takes no work is as good as away, and the next connection may lead to one that does: a standby in the
  // place of its primary (read-only), a database that is closed to connections, a disk or a memory that is full, a disk that fails.
  '25006',
  '55000',
  '53100',
  '53200',
  '58030',
]);

const MESSAGES = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Client has encountered a connection error',
  'Client was closed',
  'Query read timeout',
];

/**
 * Whether the connection failed, or the server behind it, not the statement. Looks through the wrappers that MikroORM puts around driver
 * errors, but not into an ApiError: that is an answer already, and what led to it must not be tried again.
 */
export function isConnectionFault(error: unknown): boolean {
  for (
    let fault = error;
    fault instanceof Error && !(fault instanceof ApiError);
    fault = fault.cause ?? (fault as { previous?: unknown }).previous
  ) {
    const { code, message } = fault as NodeJS.ErrnoException;
    if (code !== undefined && (SYSTEM_CODES.has(code) || SQL_STATES.has(code))) return true;
    if (MESSAGES.some((text) => message.startsWith(text))) return true;
  }
  return false;
}

/** 503: the caller may try again. */
export function unavailable(cause: unknown): ApiError {
  return new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1, cause });
}
