import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { ApiError, invalid } from '../errors.js';
import { isDeeper } from '../json.js';
import { checkShape, MAX_DEPTH, tooDeep } from './json-shape.js';

const tooLarge = () => new ApiError('payload_too_large', 'Request body too large');
const unsupported = () => new ApiError('unsupported_media_type', 'Unsupported media type');
const malformed = () => invalid('Malformed JSON');

/** @throws ApiError unsupported_media_type unless the body is declared as plain UTF-8 JSON */
export function requireJson(request: IncomingMessage): void {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers;
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') throw unsupported();
  if (type === 'application/json') return;
  const [essence = '', ...parameters] = (type ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (essence !== 'application/json') throw unsupported();
  for (const parameter of parameters)
    if (parameter.startsWith('charset=') && !/^charset="?utf-?8"?$/.test(parameter)) throw unsupported();
}

const waiting = new WeakMap<IncomingMessage, () => void>();

/** `tell` is called when the request's body is about to be read: its sender waits for that (`Expect: 100-continue`). */
export function whenBodyIsWanted(request: IncomingMessage, tell: () => void): void {
  waiting.set(request, tell);
}

/**
 * The body's bytes, never more than the limit: a declared length over it is refused unread, an undeclared one while reading.
 * @throws ApiError payload_too_large
 */
export function readBody(
  request: IncomingMessage,
  limitBytes: number,
  refusal: () => ApiError = tooLarge,
): Promise<Buffer> {
  const declared = request.headers['content-length'];
  if (declared !== undefined && Number(declared) > limitBytes) return Promise.reject(refusal());
  waiting.get(request)?.();
  waiting.delete(request);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limitBytes) {
        request.off('data', onData);
        reject(refusal());
      } else chunks.push(chunk);
    };
    request.on('data', onData);
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    // Every request closes, most of them whole: an error and its stack are made for the others only.
    const onBroken = () => {
      if (!request.complete) reject(malformed());
    };
    request.on('error', () => reject(malformed()));
    request.on('close', onBroken);
  });
}

const UNPACK = new Map([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
] as const);

/**
 * The bytes of a body that must be plain JSON. One that is packed is refused for its encoding; one that would unpack to more than the limit
 * for its size: it is unpacked so far only to tell a bomb from a mistake.
 * @throws ApiError unsupported_media_type, payload_too_large
 */
export function readJsonBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  if (request.headers['content-encoding'] !== undefined) return readEncoded(request, limitBytes);
  try {
    requireJson(request);
  } catch (fault) {
    return Promise.reject(fault as ApiError);
  }
  return readBody(request, limitBytes);
}

async function readEncoded(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const unpack = UNPACK.get(request.headers['content-encoding']?.trim().toLowerCase() as 'gzip');
  if (unpack) {
    const packed = await readBody(request, limitBytes);
    await unpack(packed, { maxOutputLength: limitBytes }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    });
  }
  requireJson(request);
  return readBody(request, limitBytes);
}

/** So long a refused body is taken and forgotten, so that its sender reads the answer instead of a reset. */
const LINGER_MS = 5000;

/** Forgets what still comes of a refused request's body; the connection is closed when it does not end. */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const cut = setTimeout(() => request.destroy(), LINGER_MS);
  cut.unref();
  const done = () => clearTimeout(cut);
  request.on('error', done);
  request.once('close', done);
  request.once('end', done);
  request.resume();
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** @throws TypeError unless the bytes are UTF-8 */
function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new TypeError('not UTF-8');
  return bytes.toString('utf8', bytes[0] === 0xef && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0);
}

/** Escapes through which a valid JSON text can hold what PostgreSQL cannot store. */
const SUSPECT_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;
const LONE_SURROGATE = /\p{Surrogate}/u;
const PROTO_ESCAPE = /\\u005[fF]/;

/**
 * The JSON value of a body. A key `__proto__` below the first level is dropped; on the first level it stays an own key, for services that
 * refuse unknown parameters.
 * @param paramOf the parameter that a path of keys belongs to; by default its first key
 * @throws ApiError invalid_request `Malformed JSON`, or for `\u0000` and lone surrogates in any string, or for more than 500 levels or 200,000
 * members or a million items
 */
export function parseJson(bytes: Buffer, paramOf: ParamOf = ([first]) => first): unknown {
  checkShape(bytes);
  let text: string;
  let value: unknown;
  try {
    text = decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw malformed();
  }
  checkJson(value, text, paramOf);
  return value;
}

/**
 * What every JSON of a caller is held to, however it came: see {@link parseJson}.
 * @param text what `value` was parsed from
 */
export function checkJson(value: unknown, text: string, paramOf: ParamOf): void {
  // Each level takes two characters at least: most bodies need no look.
  if (text.length > 2 * MAX_DEPTH && isDeeper(value, MAX_DEPTH)) throw tooDeep();
  // A search for plain text first: nearly no body has escapes, and the patterns look at every character.
  const escapes = text.includes('\\u');
  if (escapes && SUSPECT_ESCAPE.test(text)) checkStrings(value, { path: [], paramOf });
  if (text.includes('__proto__') || (escapes && PROTO_ESCAPE.test(text))) dropProto(value, 0);
}

/** @throws ApiError invalid_request for a NUL or a lone surrogate */
export function checkText(text: string, param?: string): void {
  if (text.includes('\0') || LONE_SURROGATE.test(text))
    throw invalid('Strings must not contain \\u0000 or lone surrogates', param);
}

type ParamOf = (path: string[]) => string | undefined;

function checkStrings(value: unknown, place: { path: string[]; paramOf: ParamOf }): void {
  const { path, paramOf } = place;
  if (typeof value === 'string') checkText(value, paramOf(path));
  else if (Array.isArray(value)) for (const item of value) checkStrings(item, place);
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      checkText(key, paramOf(path));
      checkStrings(item, { path: path.length < 3 ? [...path, key] : path, paramOf });
    }
}

function dropProto(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > 0 && Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  for (const item of Object.values(value)) dropProto(item, depth + 1);
}
