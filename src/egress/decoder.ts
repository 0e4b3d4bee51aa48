import type { Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['deflate-raw', createInflateRaw],
  ['br', createBrotliDecompress],
  ['zstd', createZstdDecompress],
]);

/** Whether a `content-encoding` is one: servers also say that there is none. */
export const isEncoded = (encoding: string | undefined): encoding is string =>
  encoding !== undefined && !/^(|identity)$/i.test(encoding.trim());

/** Takes an encoding off a body whose server compresses although it was told not to. Null: an unknown one. */
export function createDecoder(encoding: string): Transform | null {
  return DECODERS.get(encoding.trim().toLowerCase())?.() ?? null;
}

/** How JSON and event streams begin. */
const BEGINS_TEXT = /^(?:[\s{[:\ufeff]|data|even|id:|retr)/;

/** Enough first bytes for {@link encodingOf}. */
export const SIGNATURE_BYTES = 4;

/** The encoding that a body's first bytes show; null: they show none. Brotli and raw deflate have no signature. */
function shownBy(bytes: Buffer): string | null {
  if (bytes.length < 2) return null;
  const two = bytes.readUInt16BE(0);
  if (two === 0x1f8b) return 'gzip';
  if (bytes.length >= SIGNATURE_BYTES && bytes.readUInt32LE(0) === 0xfd2fb528) return 'zstd';
  // The header of zlib: method 8 in a window of 32 kB, and a checksum.
  return bytes[0] === 0x78 && two % 31 === 0 ? 'deflate' : null;
}

/**
 * The encoding of a text's bytes, which may differ from what its server declares: some proxies drop the header and keep the compressed bytes, some
 * do the opposite, and `deflate` is also sent without its header.
 * @param first the first {@link SIGNATURE_BYTES}, or all bytes of a shorter text
 * @returns null if it is not encoded
 */
export function encodingOf(first: Buffer, declared: string | null): string | null {
  const shown = shownBy(first);
  if (shown !== null || declared === null) return shown;
  const named = declared.trim().toLowerCase();
  if (named === 'deflate') return BEGINS_TEXT.test(first.toString()) ? null : 'deflate-raw';
  return /^(?:x-)?gzip$|^zstd$/.test(named) ? null : named;
}
