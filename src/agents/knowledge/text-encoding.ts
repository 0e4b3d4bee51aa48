import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { detect } from 'jschardet';
import { knownEncoding } from './encoding-marks.js';

/** Encodings that are detected by their letters, under the library's names, as far as they can be decoded. */
const ENCODINGS = [
  ...['gb18030', 'big5hkscs', 'cp932', 'euc_jis_2004', 'iso2022_jp_2', 'cp949', 'cp874', 'cp866'],
  ...['cp1250', 'cp1251', 'cp1252', 'cp1253', 'cp1254', 'cp1255', 'cp1256', 'cp1257', 'cp1258'],
  ...['koi8-r', 'koi8-u', 'iso8859-2', 'iso8859-5', 'iso8859-7', 'iso8859-15'],
];
/** Names of the detecting library that the decoder knows by another name. */
const LABELS: Readonly<Record<string, string>> = {
  CP932: 'shift_jis',
  CP949: 'euc-kr',
  CP874: 'windows-874',
  'ISO-2022-JP-2': 'iso-2022-jp',
  'EUC-JIS-2004': 'euc-jp',
  'Big5-HKSCS': 'big5',
};
const WESTERN = 'windows-1252';
/** Encodings of Latin letters: by a few accents they cannot be told apart, and most files are of the first. */
const LATIN = new Set([
  WESTERN,
  'windows-1250',
  'windows-1254',
  'windows-1257',
  'windows-1258',
  'iso-8859-2',
  'iso-8859-15',
]);
const LEAST_CONFIDENCE = 0.05;
/** Only a part of a long text is examined: from its first letter outside ASCII. */
const LOOKED_AT = 65_536;

/** Encodings of Latin letters, by the library's names. */
const LATIN_ENCODINGS = ['cp1250', 'cp1252', 'cp1254', 'cp1257', 'cp1258', 'iso8859-2', 'iso8859-15'];

/** Latin letters beside Greek or Cyrillic ones in one word, and words of Greek or Cyrillic letters. */
const MIXED =
  /\p{Script=Latin}[\p{Script=Greek}\p{Script=Cyrillic}]|[\p{Script=Greek}\p{Script=Cyrillic}]\p{Script=Latin}/u;
const OTHER = /[\p{Script=Greek}\p{Script=Cyrillic}]/u;

/** Whether most words of another alphabet have letters of ours too: then it was taken for that by a few accents. */
function isMixedUp(text: string): boolean {
  const words = text.split(/[^\p{L}]+/u).filter((word) => OTHER.test(word));
  return words.filter((word) => MIXED.test(word)).length * 2 > words.length;
}

function detected(part: Buffer, detectEncodings: string[]): TextDecoder {
  const { encoding, confidence } = detect(part, { detectEncodings });
  const decoder = new TextDecoder(LABELS[encoding ?? ''] ?? encoding ?? WESTERN);
  return LATIN.has(decoder.encoding) && confidence < LEAST_CONFIDENCE ? new TextDecoder(WESTERN) : decoder;
}

function looksLike(bytes: Buffer): TextDecoder {
  const first = bytes.findIndex((byte) => byte >= 0x80 || byte === 0x1b);
  const part = bytes.subarray(first, first + LOOKED_AT);
  const decoder = detected(part, ENCODINGS);
  // The word's first letters may be ASCII's.
  const said = decoder.decode(bytes.subarray(Math.max(0, first - 20), first + LOOKED_AT));
  return isMixedUp(said) ? detected(part, LATIN_ENCODINGS) : decoder;
}

/**
 * A text in whatever encoding it was written: by its mark, as UTF-8 where it is that, else by what its letters look like. What is no character
 * there becomes U+FFFD.
 */
export function decodeText(bytes: Buffer): string {
  const known = knownEncoding(bytes) ?? (isUtf8(bytes) ? 'utf-8' : null);
  return (known === null ? looksLike(bytes) : new TextDecoder(known)).decode(bytes);
}

/** A text's bytes in UTF-8, unchanged if they are UTF-8 already. */
export function inUtf8(bytes: Buffer): Buffer {
  return knownEncoding(bytes) === null && isUtf8(bytes) ? bytes : Buffer.from(decodeText(bytes));
}
