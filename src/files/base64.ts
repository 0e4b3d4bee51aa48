import { setImmediate as turn } from 'node:timers/promises';

/** Characters that are looked at before the event loop gets its turn: about a millisecond. */
const SLICE = 262_144;

/** What a byte is in base64: a digit stands for itself, in the standard alphabet. */
const NOTHING = 0;
const LINE_BREAK = 1;
const PADDING = 2;
const KINDS = new Uint8Array(256).fill(NOTHING);
for (const digit of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'))
  KINDS[digit] = digit;
KINDS[0x0a] = LINE_BREAK;
KINDS[0x0d] = LINE_BREAK;
KINDS[0x3d] = PADDING;
/** `-` and `_` of the alphabet for URLs, and what they are in the other. */
const FOR_URLS = new Map([
  [0x2d, 0x2b],
  [0x5f, 0x2f],
]);
const KINDS_FOR_URLS = Uint8Array.from(KINDS, (kind, byte) =>
  byte === 0x2b || byte === 0x2f ? NOTHING : (FOR_URLS.get(byte) ?? kind),
);

/**
 * The digits of base64 in either alphabet, in the standard one, a slice at a time; null once, at the end, where the text is no base64. Line
 * breaks are passed over, as mail programs write them; all else is strict, so that nothing is decoded to something else.
 */
async function* digitsOf(text: string): AsyncGenerator<Buffer | null, void> {
  const kinds = text.includes('-') || text.includes('_') ? KINDS_FOR_URLS : KINDS;
  let padded = false;
  for (let from = 0; from < text.length; from += SLICE) {
    if (from > 0) await turn();
    // As UTF-8, where nothing beyond ASCII looks like a digit.
    const bytes = Buffer.from(text.slice(from, from + SLICE), 'utf8');
    let length = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const kind = kinds[bytes[at] as number] as number;
      if (kind === LINE_BREAK) continue;
      if (kind === PADDING) padded = true;
      else if (kind === NOTHING || padded) return yield null;
      else bytes[length++] = kind;
    }
    yield bytes.subarray(0, length);
  }
}

/** The same data as one run of digits of the standard alphabet with its padding; null for what is no base64 (nothing is neither). */
export async function cleanBase64(text: string): Promise<string | null> {
  const parts: string[] = [];
  let digits = 0;
  for await (const part of digitsOf(text)) {
    if (part === null) return null;
    digits += part.length;
    parts.push(part.toString('latin1'));
  }
  if (digits === 0 || digits % 4 === 1) return null;
  return parts.join('') + '='.repeat((4 - (digits % 4)) % 4);
}

/** The bytes that base64 stands for, or null. Takes linear time, whatever is between the digits, and holds the event loop for no slice longer. */
export async function decodeBase64(text: string): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let rest = '';
  for await (const part of digitsOf(text)) {
    if (part === null) return null;
    const digits = rest + part.toString('latin1');
    const whole = digits.length - (digits.length % 4);
    parts.push(Buffer.from(digits.slice(0, whole), 'base64'));
    rest = digits.slice(whole);
  }
  if (rest.length === 1) return null;
  parts.push(Buffer.from(rest, 'base64'));
  const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  return bytes.length === 0 ? null : bytes;
}
