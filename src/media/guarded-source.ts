import { BufferSource } from 'mediabunny';

/** So often nobody who gets on asks for what begins at one and the same byte in a row: a picture is shown 3,600 times at most. */
const MOST_REPEATS = 20_000;

/** What mediabunny's own source does when it is asked for bytes; its types leave it out. */
type Read = (start: number, end: number, ...others: unknown[]) => unknown;

/**
 * A stranger's file for mediabunny 1.61, which stays with some broken ones for ever, or for billions of turns, and lets no timer run meanwhile.
 * Matroska and FLAC: it asks for the same place again and again. MP4: it counts the samples of a chunk, as many as are said to be in it.
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
