import cors from 'cors';
import type { CorsOptions, CorsRequest } from 'cors';
import type { RequestHandler } from 'express';

const EXPOSED = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'Request-Id',
  'X-Job-Id',
  'X-Usage',
  'Retry-After',
  'Idempotent-Replayed',
  'X-Penstock-Tools-Left-Out',
  'Range',
].join(', ');
const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Content-Range',
  'Accept',
  'Idempotency-Key',
  'Last-Event-ID',
  'X-Request-Id',
  'X-Service-Client',
  'X-Client-Name',
  'X-Tags',
].join(', ');
const METHODS = 'GET, POST, PATCH, PUT, DELETE, OPTIONS';
const MAX_AGE_SECONDS = 600;

/** Cross-origin requests of browsers, for the operator's `CORS_ORIGINS` only (decisions 4). */
export interface Cors {
  allows(origin: string): boolean;
  /** Sets the headers, and answers preflights of allowed origins. Null where there are none. */
  handler: RequestHandler | null;
}

export function createCors(origins: string[]): Cors {
  const all = origins.includes('*');
  const allows = (origin: string) => all || origins.includes(origin);
  if (origins.length === 0) return { allows, handler: null };
  const optionsOf = ({ method, headers }: CorsRequest): CorsOptions => {
    const requested = headers['access-control-request-headers'];
    const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
    const isAllowed = all || (headers.origin !== undefined && allows(headers.origin));
    return {
      origin: all ? '*' : origins,
      methods: METHODS,
      // SDKs send headers of their own (their version, for example), so every requested header is allowed. The key still decides.
      allowedHeaders: requested ?? ALLOWED_HEADERS,
      exposedHeaders: EXPOSED,
      maxAge: MAX_AGE_SECONDS,
      preflightContinue: !isPreflight || !isAllowed,
    };
  };
  return { allows, handler: cors((request, tell) => tell(null, optionsOf(request))) };
}
