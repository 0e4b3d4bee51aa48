import { describe, expect, it } from 'vitest';
import { readablePage } from '../../src/agents/work/readable-page.js';
import { dataUrlBytes, decodedBase64 } from '../../src/files/index.js';

/** Bytes whose base64 has every digit, and each length of padding. */
const samples = [256, 257, 258, 400_000].map((length) =>
  Buffer.from(Array.from({ length }, (_, at) => (at * 67 + (at >> 3)) & 255)),
);
const unpadded = (text: string) => text.replace(/=+$/, '');
const SPELLINGS: [string, (bytes: Buffer) => string][] = [
  ['as it is', (bytes) => bytes.toString('base64')],
  ['without padding', (bytes) => unpadded(bytes.toString('base64'))],
  ['URL-safe', (bytes) => bytes.toString('base64url')],
  ['URL-safe with padding', (bytes) => bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_')],
  ['with line breaks', (bytes) => bytes.toString('base64').replace(/.{76}/g, '$&\r\n')],
  ['with a line break after each digit', (bytes) => bytes.toString('base64').replace(/./g, '$&\n')],
  ['indented', (bytes) => bytes.toString('base64').replace(/.{60}/g, '$&\n    \t')],
  ['with a line break at its ends', (bytes) => `\n ${bytes.toString('base64')} \r\n`],
  ['with its padding on a line of its own', (bytes) => bytes.toString('base64').replace(/=+$/, '\n$&')],
];

describe('base64', () => {
  it.each(SPELLINGS)('is read %s, bare and in a data: URL', async (_, spelled) => {
    for (const bytes of samples) {
      expect((await decodedBase64(spelled(bytes)))?.equals(bytes)).toBe(true);
      for (const head of ['data:image/png;base64', 'data:;base64', 'DATA:text/plain;charset=x; BASE64'])
        expect((await dataUrlBytes(`${head},${spelled(bytes)}`))?.equals(bytes), head).toBe(true);
    }
  });

  it('may be percent-encoded in a data: URL, or have blanks where a form made them', async () => {
    for (const bytes of samples) {
      const text = bytes.toString('base64');
      expect((await dataUrlBytes(`data:;base64,${encodeURIComponent(text)}`))?.equals(bytes)).toBe(true);
      expect((await dataUrlBytes(`data:;base64,${text.replace(/.{9}/g, '$& ')}`))?.equals(bytes)).toBe(true);
    }
  });

  it.each([
    '',
    ' ',
    '\n',
    '====',
    'A',
    'AAAAA',
    'no picture',
    'AA=A',
    'AA==AAAA',
    'ab+-',
    'é'.repeat(4),
    'ŁŁŁŁ',
    'AAAA\0',
    `${'A'.repeat(300_000)}!`,
    // The low byte of the character is a digit's.
    `${'A'.repeat(1000)}\u0141${'A'.repeat(299_999)}`,
    `${'+'.repeat(262_144)}${'-'.repeat(4)}`,
    `${'A'.repeat(1000)}====${'A'.repeat(300_000)}`,
    `${'A'.repeat(300_001)}`,
  ])('is refused where it is none: %j', async (text) => expect(await decodedBase64(text)).toBeNull());

  it.each(['data:', 'data:image/png;base64', 'data:,%', 'data:;base64,%zz', 'data:;base64,@@@@', 'x:,a'])(
    'is refused in a broken data: URL: %j',
    async (url) => expect(await dataUrlBytes(url)).toBeNull(),
  );
});

/** Longer than a slice. */
const long = Buffer.from(Array.from({ length: 400_001 }, (_, at) => (at * 7919) % 256));

describe('percent-encoded data', () => {
  it('is the same bytes, wherever a slice ends', async () => {
    for (const shift of ['', 'a', 'ab', '\u{1f469}']) {
      const text = shift + [...long].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
      expect((await dataUrlBytes(`data:,${text}`))?.equals(Buffer.concat([Buffer.from(shift), long]))).toBe(
        true,
      );
    }
    expect(await dataUrlBytes(`data:,${'%41'.repeat(200_000)}%4`)).toBeNull();
  });
});

describe('a page', () => {
  it('of a tag without end, or nested without end, is looked through once', async () => {
    const before = process.threadCpuUsage().user;
    const nested = readablePage('<div>'.repeat(500), 'https://example.com/');
    await expect(nested).rejects.toThrow('nested too deeply');
    const deep = `${'<b>'.repeat(500)}<${'a'.repeat(2_000_000)}`;
    await expect(readablePage(deep, 'https://example.com/')).rejects.toThrow('nested too deeply');
    // Some 50 ms; minutes where each letter was a place to begin at.
    expect((process.threadCpuUsage().user - before) / 1000).toBeLessThan(5000);
  });
});
