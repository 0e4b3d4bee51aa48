import { nextSlice } from '../collections/time-slicer.js';

const PERCENT = 0x25;
const BROKEN = /%(?![0-9a-f]{2})/i;
/** Characters that are decoded in one turn of the event loop: about two milliseconds. */
const SLICE = 262_144;

/** Of `0` to `9`, `A` to `F` and `a` to `f`, by their codes. */
const hexDigit = (code = 0): number => (code & 0xf) + (code >> 6) * 9;

/** The end of a slice: never inside a percent escape or a surrogate pair. */
function sliceEnd(text: string, from: number): number {
  const end = from + SLICE;
  if (end >= text.length) return text.length;
  const percent = text.slice(end - 2, end).indexOf('%');
  if (percent >= 0) return end - 2 + percent;
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code < 0xdc00 ? end - 1 : end;
}

/** Decodes percent-encoded text to bytes; non-ASCII characters become UTF-8. Null if a `%` is not followed by two hex digits. */
export async function percentDecoded(text: string): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  for (let from = 0, end = 0; from < text.length; from = end) {
    if (from > 0) await nextSlice();
    end = sliceEnd(text, from);
    const part = decoded(text.slice(from, end));
    if (part === null) return null;
    parts.push(part);
  }
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

function decoded(text: string): Buffer | null {
  if (BROKEN.test(text)) return null;
  const bytes = Buffer.from(text, 'utf8');
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1, length += 1) {
    if (bytes[at] === PERCENT) {
      bytes[length] = hexDigit(bytes[at + 1]) * 16 + hexDigit(bytes[at + 2]);
      at += 2;
    } else bytes[length] = bytes[at] as number;
  }
  return bytes.subarray(0, length);
}
