import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';

const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
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
