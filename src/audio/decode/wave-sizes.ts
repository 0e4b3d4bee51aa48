/**
 * WAV files as people's players read them. Programs that write to a pipe leave the sizes 0 or 0xFFFFFFFF, and a size that does not fit the
 * file is no better: what lies in the file counts. The file is written anew where its head says something else, so that whoever reads it
 * later (a decoder, an upstream, somebody's player) finds the same sound in it.
 */

const HEAD = 12;
const CHUNK_HEAD = 8;
const UNKNOWN_SIZE = 0xffff_ffff;
/** What writes such files writes a dozen. */
const MOST_CHUNKS = 1000;
/** Bytes behind the sound that are none and no chunk: tags of old MP3 programs, and what pads a file. */
const MOST_TRAILING = 1024;
/** Chunks that are worth keeping beside the sound. */
const KEPT = new Set(['LIST', 'fact']);
/** Integers, floats, A-law and µ-law: their blocks have one sample of each channel. */
const PLAIN_CODECS = new Set([1, 3, 6, 7]);
const EXTENSIBLE = 0xfffe;

interface Chunk {
  id: string;
  start: number;
  end: number;
}

const idAt = (file: Buffer, at: number): string => file.toString('latin1', at, at + 4);
const isId = (file: Buffer, at: number): boolean =>
  at + CHUNK_HEAD <= file.length && /^[A-Za-z0-9][A-Za-z0-9_ -]{3}$/.test(idAt(file, at));
const sizeAt = (file: Buffer, at: number): number => file.readUInt32LE(at + 4);

/** Where the next chunk begins: chunks have an even length, but not every program keeps to that. */
function after(file: Buffer, end: number): number {
  const even = end + (end % 2);
  return even !== end && !isId(file, even) && isId(file, end) ? end : even;
}

/** Whether nothing but chunks that fit follows. */
function leadsToEnd(file: Buffer, from: number): boolean {
  let at = from;
  for (let count = 0; count < MOST_CHUNKS; count++) {
    if (file.length - at <= CHUNK_HEAD) return true;
    if (!isId(file, at)) return false;
    const end = at + CHUNK_HEAD + sizeAt(file, at);
    if (end > file.length) return false;
    at = after(file, end);
  }
  return false;
}

/** Where a chunk of sound really ends. */
function soundEnd(file: Buffer, start: number, size: number): number {
  const end = start + size;
  if (size === 0 || size === UNKNOWN_SIZE || end >= file.length) return file.length;
  const next = after(file, end);
  const isBelieved = file.length - next <= MOST_TRAILING || leadsToEnd(file, next);
  return isBelieved ? end : file.length;
}

/** 64 bit sizes of RF64, as far as they fit here. */
function longSize(file: Buffer): number {
  if (idAt(file, HEAD) !== 'ds64' || file.length < 40) return UNKNOWN_SIZE;
  const size = file.readBigUInt64LE(HEAD + CHUNK_HEAD + 8);
  return size < BigInt(UNKNOWN_SIZE) ? Number(size) : UNKNOWN_SIZE;
}

function chunksOf(file: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  let at = HEAD;
  while (at + CHUNK_HEAD <= file.length && chunks.length < MOST_CHUNKS) {
    const id = idAt(file, at);
    const start = at + CHUNK_HEAD;
    const stated = sizeAt(file, at);
    if (id === 'data') {
      const end = soundEnd(file, start, stated === UNKNOWN_SIZE ? longSize(file) : stated);
      chunks.push({ id, start, end });
      at = after(file, end);
    } else if (isId(file, at) && start + stated <= file.length) {
      chunks.push({ id, start, end: start + stated });
      at = after(file, start + stated);
    } else {
      // A chunk that cannot be passed over: the sound is looked for behind it.
      const found = file.indexOf('data', start, 'latin1');
      if (found < 0) break;
      at = found;
    }
  }
  return chunks;
}

/** The format's chunk with the block and the rate that follow from the rest of it: readers count by these. */
function trueFormat(file: Buffer, { start, end }: Chunk): Buffer | null {
  if (end - start < 16) return null;
  const format = Buffer.from(file.subarray(start, end));
  const tag = format.readUInt16LE(0);
  const codec = tag === EXTENSIBLE && format.length >= 26 ? format.readUInt16LE(24) : tag;
  if (!PLAIN_CODECS.has(codec)) return format;
  const block = format.readUInt16LE(2) * Math.ceil(format.readUInt16LE(14) / 8);
  if (block === 0 || block > 0xffff) return null;
  format.writeUInt16LE(block, 12);
  format.writeUInt32LE((format.readUInt32LE(4) * block) % 2 ** 32, 8);
  return format;
}

function chunk(id: string, ...parts: Buffer[]): Buffer[] {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const head = Buffer.alloc(CHUNK_HEAD);
  head.write(id, 0, 'latin1');
  head.writeUInt32LE(length, 4);
  return [head, ...parts, Buffer.alloc(length % 2)];
}

function isTrue(file: Buffer, { chunks, format }: { chunks: readonly Chunk[]; format: Buffer }): boolean {
  const [sound, ...more] = chunks.filter(({ id }) => id === 'data');
  const [told, ...others] = chunks.filter(({ id }) => id === 'fmt ');
  return (
    sound !== undefined &&
    told !== undefined &&
    more.length === 0 &&
    // Of two formats readers take the first or the last.
    others.length === 0 &&
    told.start < sound.start &&
    chunks.every(({ start }) => start % 2 === 0) &&
    idAt(file, 0) === 'RIFF' &&
    sizeAt(file, 0) + CHUNK_HEAD === file.length &&
    sizeAt(file, sound.start - CHUNK_HEAD) === sound.end - sound.start &&
    format.equals(file.subarray(told.start, told.end)) &&
    leadsToEnd(file, HEAD)
  );
}

/** The same file where its head tells the truth, and where it is no WAV; else the sound of it with a head that does. */
export function withTrueWave(bytes: Uint8Array): Uint8Array {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const form = file.toString('latin1', 0, 4);
  if (!['RIFF', 'RF64', 'BW64'].includes(form) || idAt(file, 8) !== 'WAVE') return bytes;
  const chunks = chunksOf(file);
  const told = chunks.find(({ id }) => id === 'fmt ');
  const sounds = chunks.filter(({ id }) => id === 'data');
  const format = told === undefined ? null : trueFormat(file, told);
  if (format === null || sounds.length === 0 || isTrue(file, { chunks, format })) return bytes;
  const parts = [
    ...chunk('fmt ', format),
    ...chunks
      .filter(({ id }) => KEPT.has(id))
      .flatMap(({ id, start, end }) => chunk(id, file.subarray(start, end))),
    ...chunk('data', ...sounds.map(({ start, end }) => file.subarray(start, end))),
  ];
  const length = parts.reduce((sum, part) => sum + part.length, 4);
  const head = Buffer.alloc(HEAD);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(length, 4);
  head.write('WAVE', 8, 'latin1');
  return Buffer.concat([head, ...parts]);
}
