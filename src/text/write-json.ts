import type { TimeSlicer } from '../collections/time-slicer.js';
import { joinBytes } from './join-bytes.js';
import { isLongJson, jsonPieces, textPieces } from './json-pieces.js';

interface Limits {
  timeSlicer: TimeSlicer;
  maxBytes: number;
}

/** Characters from which on a text is written in slices. */
const LONG_TEXT = 512 * 1024;

/** Writes a value as JSON: short JSON at once, long JSON in time slices. Both parse to the same value. */
export function writeJson(value: unknown, timeSlicer: TimeSlicer): string | Promise<Buffer> {
  return isLongJson(value) ? writeLongJson(value, timeSlicer) : JSON.stringify(value);
}

/** Encodes a long text in time slices: a socket would encode 40 MB of it in one go, which takes 100 ms. A short text is returned as it is. */
export function writeText(text: string, timeSlicer: TimeSlicer): string | Promise<Buffer> {
  return text.length < LONG_TEXT
    ? text
    : (bytesOf(textPieces(text), { timeSlicer, maxBytes: Infinity }) as Promise<Buffer>);
}

/** Writes JSON in time slices. JSON.stringify of 2,048 vectors of 4,096 numbers (170 MB) would block the event loop for over a second. */
export async function writeLongJson(value: unknown, timeSlicer: TimeSlicer): Promise<Buffer> {
  return (await writeJsonUpTo(value, { timeSlicer, maxBytes: Infinity })) as Buffer;
}

/** Writes a value as JSON. Stops and returns null as soon as it takes more than `maxBytes`, because it could not be stored anyway. */
export function writeJsonUpTo(value: unknown, limits: Limits): Promise<Buffer | null> {
  return bytesOf(jsonPieces(value), limits);
}

async function bytesOf(
  writing: Generator<string, void>,
  { timeSlicer, maxBytes }: Limits,
): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  let size = 0;
  await timeSlicer.run((until) => {
    do {
      const { done, value: text } = writing.next();
      if (done === true) return true;
      const piece = Buffer.from(text);
      size += piece.length;
      if (size > maxBytes) return true;
      pieces.push(piece);
    } while (performance.now() < until);
    return false;
  });
  if (size > maxBytes) return null;
  return await joinBytes(pieces, timeSlicer);
}
