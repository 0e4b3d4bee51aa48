import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** The text that the sandbox voice stores in its audio, so that a transcription can return exactly its words. */
export interface SpeechMark {
  text: string;
}

const HEAD = 'penstock-speech';
const MAX_TEXT_BYTES = 65_536;
const PART = /penstock-speech:(\d{1,3})\.(\d{1,3}):([A-Za-z0-9_-]{1,20000});/g;

/**
 * The mark as printable text, cut into parts of at most `partLength` characters of payload: containers carry it as their comment, which
 * converters copy from format to format.
 */
export function writeMark({ text }: SpeechMark, partLength = 20_000): string[] {
  const payload = deflateRawSync(Buffer.from(text, 'utf8'), { level: 9 }).toString('base64url');
  const count = Math.max(1, Math.ceil(payload.length / partLength));
  return Array.from(
    { length: count },
    (_, index) => `${HEAD}:${index}.${count}:${payload.slice(index * partLength, (index + 1) * partLength)};`,
  );
}

/** Finds a mark anywhere in a file, whatever the container. Null if there is no complete one. */
export function readMark(bytes: Uint8Array): SpeechMark | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.indexOf(HEAD) < 0) return null;
  const parts = new Map<number, string>();
  let expected = 0;
  for (const [, index, count, payload] of markedRegions(buffer).matchAll(PART)) {
    expected = Number(count);
    parts.set(Number(index), payload ?? '');
  }
  if (expected === 0 || parts.size !== expected) return null;
  const payload = Array.from({ length: expected }, (_, index) => parts.get(index) ?? '').join('');
  try {
    const text = inflateRawSync(Buffer.from(payload, 'base64url'), { maxOutputLength: MAX_TEXT_BYTES });
    return { text: text.toString('utf8') };
  } catch {
    // Other bytes that look like a mark.
    return null;
  }
}

/** Decodes as text only the regions that begin like a mark. */
function markedRegions(buffer: Buffer): string {
  let text = '';
  for (let at = buffer.indexOf(HEAD); at >= 0; at = buffer.indexOf(HEAD, at + HEAD.length)) {
    const end = buffer.indexOf(';', at);
    if (end > at && end - at < 21_000) text += buffer.toString('latin1', at, end + 1);
  }
  return text;
}
