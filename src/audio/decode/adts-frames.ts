/**
 * Bare AAC (ADTS) as people's players read it: they look for the next frame behind whatever is no frame. Such a file is written anew without it,
 * so that whoever reads it later finds the same sound in it.
 */

const HEADER = 7;
const TAG_HEADER = 10;

const isFrame = (file: Buffer, at: number): boolean =>
  at + HEADER <= file.length &&
  file[at] === 0xff &&
  ((file[at + 1] ?? 0) & 0xf6) === 0xf0 &&
  lengthAt(file, at) > HEADER;

const lengthAt = (file: Buffer, at: number): number => (file.readUIntBE(at + 3, 3) >> 5) & 0x1fff;

/** The first frame behind tags (`ID3`). */
function firstFrame(file: Buffer): number {
  let at = 0;
  while (at + TAG_HEADER <= file.length && file.toString('latin1', at, at + 3) === 'ID3') {
    const [a = 0, b = 0, c = 0, d = 0] = file.subarray(at + 6, at + TAG_HEADER);
    at += TAG_HEADER + (((a & 127) << 21) | ((b & 127) << 14) | ((c & 127) << 7) | (d & 127));
  }
  return at;
}

/** Profile and rate, which all frames of a file share. */
const kindAt = (file: Buffer, at: number): number => (file[at + 2] ?? 0) & 0xfc;

/** A frame at a place; null: none begins there. */
export const adtsFrameAt = (file: Buffer, at: number): { length: number; kind: number } | null =>
  isFrame(file, at) ? { length: lengthAt(file, at), kind: kindAt(file, at) } : null;

/** The same file where its frames follow one another, and where it is no ADTS; else its frames. */
export function withFramesOnly(bytes: Uint8Array): Uint8Array {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const first = firstFrame(file);
  if (!isFrame(file, first)) return bytes;
  const kind = kindAt(file, first);
  const isOurs = (at: number): boolean => isFrame(file, at) && kindAt(file, at) === kind;
  const isBelieved = (at: number): boolean => {
    const end = at + lengthAt(file, at);
    return end === file.length || isOurs(end);
  };
  const runs: Buffer[] = [];
  let [start, at] = [first, first];
  while (at < file.length) {
    // Where a frame is whole but something else follows, it is the last before a gap.
    while (isOurs(at) && at + lengthAt(file, at) <= file.length) at += lengthAt(file, at);
    if (at > start) runs.push(file.subarray(start, at));
    at = file.indexOf(0xff, at + 1);
    while (at >= 0 && !(isOurs(at) && isBelieved(at))) at = file.indexOf(0xff, at + 1);
    if (at < 0) break;
    start = at;
  }
  return runs.length > 1 ? Buffer.concat([file.subarray(0, first), ...runs]) : bytes;
}
