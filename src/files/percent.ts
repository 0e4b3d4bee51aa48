const PERCENT = 0x25;
const BROKEN = /%(?![0-9a-f]{2})/i;

/** Of `0` to `9`, `A` to `F` and `a` to `f`, by their codes. */
const hexDigit = (code = 0): number => (code & 0xf) + (code >> 6) * 9;

/** The bytes that a percent-encoded text stands for, characters beyond ASCII as UTF-8; null where a `%` has no two hex digits. */
export function percentDecoded(text: string): Buffer | null {
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
