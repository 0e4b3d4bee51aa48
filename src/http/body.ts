import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { ApiError, invalid } from '../contract/errors.js';
import type { TimeSlicer } from '../collections/time-slicer.js';
import type { ByteReservation } from './byte-budget.js';
import { malformed } from './json-text.js';

const tooLarge = () => new ApiError('payload_too_large', 'Request body too large');
const unsupported = () => new ApiError('unsupported_media_type', 'Unsupported media type');

/** @throws ApiError unsupported_media_type unless the body is declared as plain UTF-8 JSON */
export function requireJson(request: IncomingMessage): void {
  if (packingOf(request) !== null) throw unsupported();
  requireJsonType(request);
}

/** The `Content-Encoding` of a body; null for none. */
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

/** Calls `tell` when the request's body is about to be read. The client waits for that (`Expect: 100-continue`). */
export function beforeBodyRead(request: IncomingMessage, onRead: () => void): void {
  waiting.set(request, onRead);
}

export interface BodyReading {
  limitBytes: number;
  /** Counts the bytes: a declared length at once, other bytes as they arrive. Absent for a short body of a caller without a key. */
  byteReservation?: ByteReservation;
  /** Reads a long body in time slices. Absent: the body is read at once, because its limit keeps it short. */
  timeSlicer?: TimeSlicer;
  /** The error for a body over the limit. */
  refusal?: (() => ApiError) | undefined;
  /** Absent: the body must declare its type and must not be compressed. */
  rules?: BodyRules;
}

/** Which further bodies an API accepts: compressed ones, and ones without a declared type. */
export interface BodyRules {
  /** Decompresses `Content-Encoding: gzip` and `deflate`. All limits hold for the decompressed bytes. */
  unpacks: boolean;
  /** JSON may come without a `Content-Type`. */
  undeclared: boolean;
}

/**
 * The body's bytes, never more than the limit. A declared length over the limit is refused before reading; an undeclared length is refused while
 * reading.
 * @throws ApiError payload_too_large; rate_limited and unavailable where the byte budget is used up
 */
export async function readBody(request: IncomingMessage, reading: BodyReading): Promise<Buffer> {
  const { limitBytes, refusal = tooLarge, timeSlicer } = reading;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limitBytes) throw refusal();
  const gathered = new GatheredBytes(reading, declared);
  waiting.get(request)?.();
  waiting.delete(request);
  return await new Promise((resolve, reject) => {
    const { byteReservation } = reading;
    const readMore = async (read: number): Promise<void> => {
      const waitMs = byteReservation?.read(read) ?? 0;
      if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
      await timeSlicer?.run(() => true);
      request.resume();
    };
    let ofPiece = 0;
    const onData = (chunk: Buffer) => {
      try {
        gathered.add(chunk);
      } catch (fault) {
        leave();
        reject(fault as ApiError);
        return;
      }
      if (timeSlicer === undefined || (ofPiece += chunk.length) < PIECE_BYTES) return;
      // A fast sender would fill several megabytes in one turn of the event loop, and its memory takes longer to get than to fill.
      request.pause();
      void readMore(ofPiece);
      ofPiece = 0;
    };
    const onEnd = () => {
      leave();
      resolve(gathered.bytes);
    };
    // Every request emits `close`, most of them after `end`. The error with its stack is made only for the others.
    const onBroken = () => {
      leave();
      reject(malformed());
    };
    // The request lives as long as its answer, which may be a long stream. Its listeners must not keep the body's bytes in memory.
    const leave = () =>
      request.off('data', onData).off('end', onEnd).off('close', onBroken).off('error', onBroken);
    request.on('data', onData).on('end', onEnd).on('close', onBroken).on('error', onBroken);
    // A later abort emits `error`, and an `error` event without a listener ends the process.
    request.on('error', ignore);
  });
}

function ignore(): void {}

const FIRST_BYTES = 16 * 1024;
/** So much of a body is read in one turn of the event loop, about a millisecond's work. */
const PIECE_BYTES = 256 * 1024;

/** Collects a body in one growing buffer. A list of chunks would have to be copied as a whole at the end, which blocks the event loop. */
class GatheredBytes {
  #memory: Buffer;
  #size = 0;

  constructor(
    private readonly reading: BodyReading,
    declared: number,
  ) {
    reading.byteReservation?.grow(declared);
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
    const { limitBytes, byteReservation } = this.reading;
    const size = Math.min(limitBytes, Math.max(least, 2 * this.#memory.length, FIRST_BYTES));
    byteReservation?.grow(size - this.#memory.length);
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
 * The bytes of a body that must be plain JSON. A compressed body is refused: with 413 if it decompresses to more than the limit (it is
 * decompressed only to find that out), else with 415. With `rules` the body is read by {@link readUnpacked}.
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

/** Decompresses without storing anything, only to measure. @throws ApiError payload_too_large */
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
    // Data that cannot be decompressed is not a decompression bomb.
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
 * A body's bytes, decompressed where the rules allow it. The limit and the byte budget are checked before decompressed bytes are stored, so a
 * decompression bomb takes no more memory than any other body.
 * @throws ApiError unsupported_media_type for another `Content-Encoding`, invalid_request for broken compressed data, and as {@link readBody}
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
  reading.byteReservation?.keep(unpacked.heldBytes);
  return unpacked.bytes;
}

/** `deflate` means the zlib format (RFC 9110, 8.4.1.2), but some clients send raw deflate without the zlib header. */
function openInflate(packed: Buffer): Duplex {
  const [first = 0, second = 0] = packed;
  const hasHead = (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
  return hasHead ? createInflate() : createInflateRaw();
}

/** The rest of a refused body is read and discarded for this long, so that the client reads the answer and does not get a TCP reset. */
const LINGER_MS = 5000;

/**
 * Between two pieces, of all refused bodies together: 25 MB in a second. What is refused must not be read faster than what is not, however many
 * requests an organisation sends: each chunk is memory that V8 must collect.
 */
const DISCARD_PAUSE_MS = 10;
/** When the next piece of a refused body may be read, a time of performance.now(). */
let nextDiscardAt = 0;

/** Milliseconds until it is the caller's turn. */
function discardTurn(): number {
  const now = performance.now();
  nextDiscardAt = Math.max(nextDiscardAt, now) + DISCARD_PAUSE_MS;
  return nextDiscardAt - now;
}

/** Discards the rest of a refused request's body, slowly. Closes the connection if the body does not end in time. */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const cut = setTimeout(() => request.destroy(), LINGER_MS);
  cut.unref();
  const done = () => clearTimeout(cut);
  request.on('error', done);
  request.once('close', done);
  request.once('end', done);
  let ofPiece = 0;
  request.on('data', ({ length }: Buffer) => {
    if ((ofPiece += length) < PIECE_BYTES) return;
    ofPiece = 0;
    request.pause();
    setTimeout(() => request.resume(), discardTurn()).unref();
  });
  request.resume();
}
