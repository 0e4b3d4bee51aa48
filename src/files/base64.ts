import { nextSlice } from '../collections/time-slicer.js';

/** Characters that are decoded in one turn of the event loop: about a millisecond. */
const SLICE = 262_144;
/** Plain base64, which Buffer decodes without further checks. */
const CLEAN = /^[A-Za-z0-9+/]+={0,2}$/;

/** The class of a byte in base64: a digit of both alphabets, a digit of one alphabet, padding, a blank, or a line break. */
const NOTHING = 0;
const DIGIT = 1;
const STANDARD = 2;
const URL_SAFE = 4;
const PADDING = 8;
const BLANK = 16;
const BREAK = 32;
const KINDS = Uint8Array.from({ length: 256 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[A-Za-z0-9]/.test(character)) return DIGIT;
  if (/[+/]/.test(character)) return STANDARD;
  if (/[-_]/.test(character)) return URL_SAFE;
  if (character === '=') return PADDING;
  if (/[ \t]/.test(character)) return BLANK;
  return /[\r\n\f]/.test(character) ? BREAK : NOTHING;
});

/** Reads digits slice by slice. Blanks and padding are also checked across the ends of slices. */
class DigitReader {
  digits = 0;
  private alphabets = 0;
  private padded = false;
  private gap = BREAK;

  constructor(private readonly blanks: boolean) {}

  /**
   * Decodes a slice that has only digits, without copies of it: those would be several times the file, and their collection stops the process.
   * @returns the bytes that were written, or 0 for another slice; all slices before must have had only digits
   */
  decode(text: string, target: Buffer, at: number): number {
    // Buffer takes the low byte of a character, so that a character outside ASCII can look like a digit.
    if (Buffer.byteLength(text, 'utf8') !== text.length) return 0;
    const size = target.write(text, at, 'base64');
    // Buffer skips other characters and stops at padding: then fewer bytes come out.
    if (size * 4 !== text.length * 3) return 0;
    if (/[+/]/.test(text)) this.alphabets |= STANDARD;
    if (/[-_]/.test(text)) this.alphabets |= URL_SAFE;
    this.gap = 0;
    this.digits += text.length;
    return size;
  }

  /** @returns the slice's digits, or null if it is not base64 */
  read(bytes: Buffer): string | null {
    let length = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      const kind = KINDS[byte] as number;
      if (kind >= BLANK) this.gap |= kind;
      else if (kind === PADDING) this.padded = true;
      else if (kind === NOTHING || this.padded || (this.gap === BLANK && !this.blanks)) return null;
      else {
        bytes[length++] = byte;
        this.alphabets |= kind;
        this.gap = 0;
      }
    }
    this.digits += length;
    return bytes.toString('latin1', 0, length);
  }

  /** Whether the digits read so far are complete base64. */
  isWhole(): boolean {
    const mixed = (this.alphabets & STANDARD) !== 0 && (this.alphabets & URL_SAFE) !== 0;
    return this.digits > 0 && this.digits % 4 !== 1 && !mixed;
  }
}

/**
 * Decodes base64 strictly: invalid input is refused, not decoded to something else. Accepts both alphabets (base64 and base64url), with and
 * without padding, and line breaks with blanks around them, as in mail and indented files. Takes linear time, and blocks the event loop for at
 * most one slice.
 * @param options.blanks blanks may be anywhere, as in a URL
 * @returns null for input that is not base64
 */
export async function decodedBase64(
  text: string,
  { blanks = false }: { blanks?: boolean } = {},
): Promise<Buffer | null> {
  if (text.length <= SLICE && text.length % 4 === 0 && CLEAN.test(text)) return Buffer.from(text, 'base64');
  const reader = new DigitReader(blanks);
  // In one place from the beginning: to join pieces of some megabytes takes longer than a turn.
  const decoded = Buffer.allocUnsafe(Math.ceil((text.length * 3) / 4));
  let size = 0;
  let rest = '';
  let isPlain = true;
  for (let from = 0; from < text.length; from += SLICE) {
    if (from > 0) await nextSlice();
    const slice = text.slice(from, from + SLICE);
    const plain: number = isPlain ? reader.decode(slice, decoded, size) : 0;
    size += plain;
    isPlain = plain > 0;
    if (isPlain) continue;
    // Encoded as UTF-8, in which no byte of a non-ASCII character is a base64 digit.
    const read = reader.read(Buffer.from(slice, 'utf8'));
    if (read === null) return null;
    const digits = rest + read;
    const whole = digits.length - (digits.length % 4);
    size += decoded.write(digits.slice(0, whole), size, 'base64');
    rest = digits.slice(whole);
  }
  if (!reader.isWhole()) return null;
  size += decoded.write(rest, size, 'base64');
  return decoded.subarray(0, size);
}
