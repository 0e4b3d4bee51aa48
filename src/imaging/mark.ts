import { crc32 } from 'node:zlib';

/** The mark says who made a PNG and for which prompt, in text chunks of the format (`Software`, `Description`; iTXt, UTF-8). */
const SOFTWARE = 'Penstock sandbox';
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length of the signature and IHDR; text chunks follow them. */
const HEAD = 8 + 25;
const MAX_PROMPT = 4000;
/** How many chunks are searched; the mark is at the beginning. */
const MAX_CHUNKS = 20;

function chunkOf(keyword: string, text: string): Buffer {
  // keyword, no compression, no language, no translated keyword
  const body = Buffer.concat([Buffer.from(`iTXt${keyword}\0\0\0\0\0`, 'latin1'), Buffer.from(text, 'utf8')]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(body.length - 4, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

/** Adds the mark to a PNG. The same input gives the same bytes. */
export function withMark(png: Buffer, prompt: string): Buffer {
  const text = [...prompt].slice(0, MAX_PROMPT).join('');
  const marks = [chunkOf('Software', SOFTWARE), chunkOf('Description', text)];
  return Buffer.concat([png.subarray(0, HEAD), ...marks, png.subarray(HEAD)]);
}

/** The prompt in a PNG's mark; null if it has none. The mark proves nothing: anybody can write one. */
export function readMark(bytes: Uint8Array): string | null {
  const png = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!png.subarray(0, 8).equals(SIGNATURE)) return null;
  const texts = new Map<string, string>();
  for (let at = 8, nth = 0; at + 12 <= png.length && nth < MAX_CHUNKS; nth++) {
    const end = at + 8 + png.readUInt32BE(at);
    if (end > png.length) break;
    if (png.toString('latin1', at + 4, at + 8) === 'iTXt') {
      const body = png.subarray(at + 8, end);
      const keyword = body.toString('latin1', 0, Math.max(0, body.indexOf(0)));
      texts.set(keyword, body.toString('utf8', keyword.length + 5));
    }
    at = end + 4;
  }
  return texts.get('Software') === SOFTWARE ? (texts.get('Description') ?? null) : null;
}
