/** UTF-16 without a byte order mark is recognised if this share of its units has, on one side, a byte that text in single bytes never has (such as zero). */
const LEAST_ZEROS = 0.1;
/** Some letters have their zero on the other side: 一 is U+4E00. */
const MOST_OTHERS = 0.1;
const HEAD_BYTES = 1024;

/** Not those for blanks, lines and pages, nor what changes the encoding within a text. */
const isControl = (byte: number): boolean => byte < 9 || (byte > 13 && byte < 32 && byte !== 0x1b);

/** The encoding that a text's first bytes show: by a byte order mark, or by the zero bytes of UTF-16. Null if they show none. */
export function knownEncoding(head: Buffer): 'utf-16le' | 'utf-16be' | null {
  const mark = head.toString('latin1', 0, 2);
  if (mark === '\xff\xfe') return 'utf-16le';
  if (mark === '\xfe\xff') return 'utf-16be';
  const zeros = sideOf(head, (byte) => byte === 0);
  // The letters of one alphabet share a byte, which for Cyrillic and Greek is a control character.
  return zeros ?? sideOf(head, isControl);
}

function sideOf(head: Buffer, counts: (byte: number) => boolean): 'utf-16le' | 'utf-16be' | null {
  const found: [even: number, odd: number] = [0, 0];
  const length = Math.min(head.length, HEAD_BYTES);
  for (let at = 0; at < length; at++) if (counts(head[at] as number)) found[at & 1 ? 1 : 0]++;
  const [even, odd] = found;
  const [fewer, more] = [Math.min(even, odd), Math.max(even, odd)];
  if (more < Math.max(2, (LEAST_ZEROS * length) / 2) || fewer > more * MOST_OTHERS) return null;
  return even > odd ? 'utf-16be' : 'utf-16le';
}
