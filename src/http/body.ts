import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { ApiError, invalid } from '../contract/errors.js';
import type { Holding } from './byte-budget.js';
import { malformed } from './json-text.js';

const tooLarge = () => new ApiError('payload_too_large', 'Request body too large');
const unsupported = () => new ApiError('unsupported_media_type', 'Unsupported media type');

/** @throws ApiError unsupported_media_type unless the body is declared as plain UTF-8 JSON */
export function requireJson(request: IncomingMessage): void {
  if (packingOf(request) !== null) throw unsupported();
  requireJsonType(request);
}

/** The coding that a body was packed with; null for none. */
function packingOf({ headers }: IncomingMessage): string | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  return encoding === undefined || encoding === 'identity' ? null : encoding;
}

function requireJsonType({ headers: { 'content-type': type } }: IncomingMessage): void {
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

export interface BodyReading {
  limitBytes: number;
  /** Counts what is read: what is declared at once, the rest as it comes. Absent: a short body, of a caller without a key. */
  holding?: Holding;
  /** How a larger one is refused. */
  refusal?: (() => ApiError) | undefined;
  /** Absent: only what is declared and comes as it is. */
  rules?: BodyRules;
}

/** Which bodies a face reads besides those that are declared and come as they are. */
export interface BodyRules {
  /** `Content-Encoding: gzip` and `deflate` are unpacked. All limits hold for what comes out. */
  unpacks: boolean;
  /** JSON may come without a `Content-Type`. */
  undeclared: boolean;
}

/**
 * The body's bytes, never more than the limit: a declared length over it is refused unread, an undeclared one while reading.
 * @throws ApiError payload_too_large; rate_limited and unavailable where too much is held already
 */
export async function readBody(request: IncomingMessage, reading: BodyReading): Promise<Buffer> {
  const { limitBytes, refusal = tooLarge } = reading;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limitBytes) throw refusal();
  const gathered = new GatheredBytes(reading, declared);
  waiting.get(request)?.();
  waiting.delete(request);
  return await new Promise((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      try {
        gathered.add(chunk);
      } catch (fault) {
        leave();
        reject(fault as ApiError);
      }
    };
    const onEnd = () => {
      leave();
      resolve(gathered.bytes);
    };
    // Every request closes, most of them whole: an error and its stack are made for the others only.
    const onBroken = () => {
      leave();
      reject(malformed());
    };
    // The request lives as long as its answer, which may be a stream: it must not keep what keeps the bytes.
    const leave = () =>
      request.off('data', onData).off('end', onEnd).off('close', onBroken).off('error', onBroken);
    request.on('data', onData).on('end', onEnd).on('close', onBroken).on('error', onBroken);
    // Whoever breaks off later has no listener otherwise, and an error without one ends the process.
    request.on('error', ignore);
  });
}

function ignore(): void {}

const FIRST_BYTES = 16 * 1024;

/** A body as it comes in, in one piece of memory: gathered in many it would be copied as a whole at its end, which takes long. */
class GatheredBytes {
  #memory: Buffer;
  #size = 0;

  constructor(
    private readonly reading: BodyReading,
    declared: number,
  ) {
    reading.holding?.grow(declared);
    this.#memory = Buffer.allocUnsafe(declared);
  }

  get heldBytes(): number {
    return this.#memory.length;
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#size);
  }

  add(chunk: Buffer): void {
    const { limitBytes, refusal = tooLarge } = this.reading;
    const size = this.#size + chunk.length;
    if (size > limitBytes) throw refusal();
    if (size > this.#memory.length) this.#grow(size);
    chunk.copy(this.#memory, this.#size);
    this.#size = size;
  }

  #grow(least: number): void {
    const { limitBytes, holding } = this.reading;
    const size = Math.min(limitBytes, Math.max(least, 2 * this.#memory.length, FIRST_BYTES));
    holding?.grow(size - this.#memory.length);
    const larger = Buffer.allocUnsafe(size);
    this.#memory.copy(larger, 0, 0, this.#size);
    this.#memory = larger;
  }
}

const UNPACK = new Map([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
] as const);

/**
 * The bytes of a body that must be plain JSON. One that is packed is refused for its encoding; one that would unpack to more than the limit
 * for its size: it is unpacked so far only to tell a bomb from a mistake. By other rules it is read as {@link readUnpacked} does.
 * @throws ApiError unsupported_media_type, and as {@link readBody}
 */
export function readJsonBody(request: IncomingMessage, reading: BodyReading): Promise<Buffer> {
  if (reading.rules !== undefined) return readJsonBy(request, reading, reading.rules);
  if (request.headers['content-encoding'] !== undefined) return readEncoded(request, reading);
  try {
    requireJson(request);
  } catch (fault) {
    return Promise.reject(fault as ApiError);
  }
  return readBody(request, reading);
}

async function readEncoded(request: IncomingMessage, reading: BodyReading): Promise<Buffer> {
  const open = UNPACK.get(request.headers['content-encoding']?.trim().toLowerCase() as 'gzip');
  if (open) await measureUnpacked(await readBody(request, reading), open(), reading);
  requireJson(request);
  return await readBody(request, reading);
}

/** Nothing of it is kept. @throws ApiError payload_too_large */
async function measureUnpacked(
  packed: Buffer,
  unpacking: Duplex,
  { limitBytes }: BodyReading,
): Promise<void> {
  let size = 0;
  try {
    unpacking.end(packed);
    for await (const chunk of unpacking) {
      size += (chunk as Buffer).length;
      if (size > limitBytes) break;
    }
  } catch {
    // What cannot be unpacked is no bomb.
  }
  if (size > limitBytes) throw tooLarge();
}

async function readJsonBy(
  request: IncomingMessage,
  reading: BodyReading,
  { undeclared }: BodyRules,
): Promise<Buffer> {
  if (!undeclared || request.headers['content-type'] !== undefined) requireJsonType(request);
  return await readUnpacked(request, reading);
}

/**
 * A body's bytes, unpacked where it came packed and the rules allow it. The limit and the byte budget hold for what comes out, before it is
 * kept: a bomb takes no more memory than any other body.
 * @throws ApiError unsupported_media_type for a coding that is not unpacked, invalid_request for one that is broken, and as {@link readBody}
 */
export async function readUnpacked(request: IncomingMessage, reading: BodyReading): Promise<Buffer> {
  const packing = packingOf(request);
  if (packing === null) return await readBody(request, reading);
  if (reading.rules?.unpacks !== true || (packing !== 'gzip' && packing !== 'deflate')) throw unsupported();
  const packed = await readBody(request, reading);
  const unpacked = new GatheredBytes(reading, 0);
  const unpacking = packing === 'gzip' ? createGunzip() : openInflate(packed);
  unpacking.end(packed);
  try {
    for await (const chunk of unpacking) unpacked.add(chunk as Buffer);
  } catch (fault) {
    throw fault instanceof ApiError ? fault : invalid(`The body is not valid ${packing}`);
  }
  reading.holding?.keep(unpacked.heldBytes);
  return unpacked.bytes;
}

/** `deflate` means zlib's form (RFC 9110, 8.4.1.2), yet some senders leave its head away. */
function openInflate(packed: Buffer): Duplex {
  const [first = 0, second = 0] = packed;
  const hasHead = (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
  return hasHead ? createInflate() : createInflateRaw();
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
