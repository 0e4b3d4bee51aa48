import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { contentTypeOf } from './content-types.js';
import type { UrlSigner } from './signed-url.js';
import type { ByteRange, FileKey, FileStore } from './store.types.js';

export interface FileHandlerOptions {
  store: FileStore;
  signer: UrlSigner;
  logger: Logger;
}

/** Answers requests under `/files/`. It needs no key, no rate limit and no database query: the signature is the permission (decisions 9). */
export type FileHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function createFileHandler(options: FileHandlerOptions): FileHandler {
  return async (request, response) => {
    try {
      await serve(options, request, response);
    } catch (error) {
      // A client that disconnects is not an error.
      if (!response.destroyed && !response.headersSent) refuse(request, response, 500);
      else response.destroy();
      if (!isPrematureClose(error)) options.logger.error({ err: error }, 'a stored file could not be served');
    }
  };
}

async function serve(
  { store, signer }: FileHandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(request, response, 405);
  const target = request.url ?? '';
  const split = target.indexOf('?');
  const pathname = split < 0 ? target : target.slice(0, split);
  const verdict = signer.verify(pathname, new URLSearchParams(split < 0 ? '' : target.slice(split + 1)));
  if (verdict.kind === 'unknown') return refuse(request, response, 404);
  if (verdict.kind !== 'valid') return refuse(request, response, 403);
  const size = await store.size(verdict.key);
  if (size === null) return refuse(request, response, 404);
  setHeaders(response, verdict.key, verdict.expires);
  const etag = etagOf(verdict.key);
  const { 'if-match': wanted, 'if-none-match': known } = request.headers;
  if (wanted !== undefined && !isListed(wanted, etag)) return refuse(request, response, 412);
  if (known !== undefined && isListed(known, etag, WEAK)) {
    response.writeHead(304).end();
    return;
  }
  await send({ store, key: verdict.key, size, request, response });
}

interface Sending {
  store: FileStore;
  key: FileKey;
  size: number;
  request: IncomingMessage;
  response: ServerResponse;
}

async function send({ store, key, size, request, response }: Sending): Promise<void> {
  const range = parseRange(request, key, size);
  if (range === 'unsatisfiable') {
    response.setHeader('Content-Range', `bytes */${size}`);
    return refuse(request, response, 416);
  }
  const length = range === null ? size : range.end - range.start + 1;
  response.setHeader('Content-Length', length);
  if (range !== null) response.setHeader('Content-Range', `bytes ${range.start}-${range.end}/${size}`);
  response.statusCode = range === null ? 200 : 206;
  if (request.method === 'HEAD' || length === 0) {
    response.end();
    return;
  }
  const bytes = await store.stream(key, range ?? undefined);
  if (bytes === null) return refuse(request, response, 404);
  // A pipeline into a closed response would not close its source.
  if (response.destroyed) return void bytes.destroy();
  // `pipeline` adds most of the ten `close` listeners that Node allows; with those of the log, the metrics and the span there are more, and Node
  // would warn of a leak.
  response.setMaxListeners(0);
  await pipeline(bytes, response);
}

/** The bytes of an id never change. */
function etagOf(key: FileKey): string {
  return `"${key.id}"`;
}

/** The prefix of a weak ETag. If-None-Match compares weakly (RFC 9110, 13.1.2); for If-Match a weak tag never matches (13.1.1). */
const WEAK = /^W\//;

/** Whether a condition (`*` or a list of tags) includes the ETag. */
function isListed(condition: string, etag: string, ignored = /^$/): boolean {
  return condition.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(ignored, '')));
}

function setHeaders(response: ServerResponse, key: FileKey, expires: number): void {
  const maxAge = Math.max(0, expires - Math.ceil(Date.now() / 1000));
  const headers = {
    'Content-Type': contentTypeOf(key.extension),
    'Content-Disposition': `inline; filename="${key.id}.${key.extension}"`,
    'X-Content-Type-Options': 'nosniff',
    // A stored file must not run scripts or load frames, whatever it contains.
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; media-src 'self'; img-src 'self'; sandbox",
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': `private, max-age=${maxAge}, immutable`,
    'Accept-Ranges': 'bytes',
    ETag: etagOf(key),
  };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/**
 * Parses a single range. Several ranges, or another unit, are ignored and the whole file is sent, as RFC 9110 allows. Only a GET can have a range
 * (14.2).
 */
function parseRange(
  request: IncomingMessage,
  key: FileKey,
  size: number,
): ByteRange | null | 'unsatisfiable' {
  if (request.method !== 'GET') return null;
  const condition = request.headers['if-range'];
  if (condition !== undefined && condition !== etagOf(key)) return null;
  const match = /^bytes=(\d{0,40})-(\d{0,40})$/i.exec(request.headers.range ?? '');
  const [, first = '', last = ''] = match ?? [];
  if (first === '' && last === '') return null;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return null;
  return start > end || start >= size ? 'unsatisfiable' : { start, end };
}

const REFUSALS = {
  403: { error: 'Invalid or expired link', code: 'forbidden' },
  404: { error: 'Not found', code: 'not_found' },
  405: { error: 'Method not allowed', code: 'method_not_allowed' },
  412: { error: 'Precondition failed', code: 'invalid_request' },
  416: { error: 'Range not satisfiable', code: 'invalid_request' },
  500: { error: 'Internal server error', code: 'server_error' },
} as const;

function refuse(request: IncomingMessage, response: ServerResponse, status: keyof typeof REFUSALS): void {
  const body = JSON.stringify(REFUSALS[status]);
  for (const name of ['ETag', 'Content-Disposition', 'Content-Length']) response.removeHeader(name);
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(status === 405 ? { Allow: 'GET, HEAD' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
