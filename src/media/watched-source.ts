import { BufferSource } from 'mediabunny';

/** A reader that makes progress does not read from the same byte more often than this in a row: a picture is shown 3,600 times at most. */
const MOST_REPEATS = 20_000;

/** The internal read function of mediabunny's source, which its types omit. */
type Read = (start: number, end: number, ...others: unknown[]) => unknown;

/**
 * A source for mediabunny 1.61 that stops endless reads of broken files. With some files the library loops forever, or billions of times, and lets no
 * timer run. In Matroska and FLAC it reads the same position again and again; in MP4 it counts as many samples of a chunk as the file claims.
 * @returns a source whose reads throw for such a file
 */
export function watchedSource(bytes: Uint8Array): BufferSource {
  const source = new BufferSource(bytes);
  const inner = source as unknown as { _read: Read };
  const read = inner._read.bind(source);
  const hasFullChunks = claimsMoreSamples(bytes);
  let [from, repeats] = [-1, 0];
  inner._read = (start, ...others) => {
    repeats = start === from ? repeats + 1 : 0;
    from = start;
    if (hasFullChunks || repeats > MOST_REPEATS) throw new Error('the file leads nowhere');
    return read(start, ...others);
  };
  return source;
}

const CHUNKS = 'stsc';
const ENTRY_BYTES = 12;

/** Whether an MP4's table of chunks has one with more samples than the file has bytes. */
function claimsMoreSamples(bytes: Uint8Array): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = file.indexOf(CHUNKS); at >= 4; at = file.indexOf(CHUNKS, at + 4)) {
    const end = Math.min(file.length, at - 4 + file.readUInt32BE(at - 4));
    for (let entry = at + 12; entry + ENTRY_BYTES <= end; entry += ENTRY_BYTES)
      if (file.readUInt32BE(entry + 4) > file.length) return true;
  }
  return false;
}
