import type { IncomingMessage, ServerResponse } from 'node:http';

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
].join(', ');
const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Idempotency-Key',
  'Last-Event-ID',
  'X-Request-Id',
  'X-Service-Client',
  'X-Client-Name',
];
const METHODS = 'GET, POST, PATCH, PUT, DELETE, OPTIONS';
const MAX_AGE_SECONDS = '600';

/** Cross-origin requests of browsers, for the operator's `CORS_ORIGINS` only (decisions 4). */
export interface Cors {
  allows(origin: string): boolean;
  /** Sets the headers; true where the request was a preflight and has been answered. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
}

export function createCors(origins: string[]): Cors {
  const all = origins.includes('*');
  const allows = (origin: string) => all || origins.includes(origin);
  return {
    allows,
    handle(request, response) {
      const { origin } = request.headers;
      if (origins.length === 0) return false;
      // Also where no origin is named: what a browser keeps of a file for an <img> must not be what a script of an allowed page gets.
      if (!all) response.setHeader('Vary', 'Origin');
      const answered = all ? '*' : origin;
      if (answered === undefined || !allows(answered)) return false;
      response.setHeader('Access-Control-Allow-Origin', answered);
      response.setHeader('Access-Control-Expose-Headers', EXPOSED);
      if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return false;
      preflight(request, response);
      return true;
    },
  };
}

/** Clients send headers of their own (SDK version and the like): what they ask for is allowed, the key still decides. */
function preflight(request: IncomingMessage, response: ServerResponse): void {
  const asked = request.headers['access-control-request-headers'];
  response.writeHead(204, {
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers': asked ?? ALLOWED_HEADERS.join(', '),
    'Access-Control-Max-Age': MAX_AGE_SECONDS,
    'Content-Length': '0',
  });
  response.end();
}
