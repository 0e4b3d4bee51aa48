/** Already as everybody reads it. */
const CLEAN = /^[A-Za-z0-9+/]+={0,2}$/;

/** What a character is in base64, by its code: a digit of either alphabet, of one of the two, a blank, a line break. */
const NOTHING = 0;
const DIGIT = 1;
const STANDARD = 2;
const URL_SAFE = 4;
const BLANK = 8;
const BREAK = 16;
const KINDS = Uint8Array.from({ length: 256 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[A-Za-z0-9]/.test(character)) return DIGIT;
  if (/[+/]/.test(character)) return STANDARD;
  if (/[-_]/.test(character)) return URL_SAFE;
  if (/[ \t]/.test(character)) return BLANK;
  return /[\r\n\f]/.test(character) ? BREAK : NOTHING;
});
const PADDING = 0x3d;

/**
 * Strict: what is no base64 is refused instead of decoded to something else. Either alphabet is taken, with and without padding, and line breaks
 * with blanks beside them, as mail programs and indented files have them.
 * @param text.blanks blanks may be anywhere, as in a URL
 * @returns null for what is none
 */
export function decodedBase64(text: string, { blanks = false }: { blanks?: boolean } = {}): Buffer | null {
  if (text.length % 4 === 0 && CLEAN.test(text)) return Buffer.from(text, 'base64');
  const bytes = Buffer.from(text, 'utf8');
  let end = bytes.length;
  const endsAt = (at: number) => bytes[at] === PADDING || (KINDS[bytes[at] ?? 0] ?? 0) >= BLANK;
  while (end > 0 && endsAt(end - 1)) end--;
  let [length, seen, gap] = [0, 0, BREAK];
  for (let at = 0; at < end; at++) {
    const byte = bytes[at] as number;
    const kind = KINDS[byte] as number;
    if (kind >= BLANK) gap |= kind;
    else if (kind === NOTHING || (gap === BLANK && !blanks)) return null;
    else {
      bytes[length++] = byte;
      seen |= kind;
      gap = 0;
    }
  }
  if (length === 0 || length % 4 === 1 || (seen & STANDARD && seen & URL_SAFE)) return null;
  return Buffer.from(bytes.toString('latin1', 0, length), 'base64');
}
