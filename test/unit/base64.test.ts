import { describe, expect, it } from 'vitest';
import { cleanBase64, decodeBase64, percentDecoded } from '../../src/files/index.js';
import { readablePage } from '../../src/agents/work/readable-page.js';

/** Longer than a slice, and no multiple of three. */
const bytes = Buffer.from(Array.from({ length: 400_001 }, (_, at) => (at * 7919) % 256));
const broken = (text: string, every: number, mark: string) =>
  text.replace(new RegExp(`.{${every}}`, 'g'), (part) => part + mark);

describe('base64 of a caller', () => {
  it.each([
    ['in one run', bytes.toString('base64')],
    ['without its padding', bytes.toString('base64').replace(/=/g, '')],
    ['for URLs', bytes.toString('base64url')],
    ['in lines', broken(bytes.toString('base64'), 76, '\r\n')],
    ['with a line break after each digit', broken(bytes.toString('base64'), 1, '\n')],
  ])('%s is the same bytes, and clean for an upstream', async (_, text) => {
    expect((await decodeBase64(text))?.equals(bytes)).toBe(true);
    expect(await cleanBase64(text)).toBe(bytes.toString('base64'));
  });

  it.each([
    '',
    '=',
    'A',
    'QQ==QQ',
    'Q Q=',
    'QQ!=',
    '+-AA',
    'Q\u0141QQ',
    `${'A'.repeat(300_000)}!`,
    `${'A'.repeat(300_001)}`,
  ])('is refused where it is none (%#)', async (text) => {
    expect(await decodeBase64(text)).toBeNull();
    expect(await cleanBase64(text)).toBeNull();
  });
});

describe('percent-encoded data', () => {
  it('is the same bytes, wherever a slice ends', async () => {
    for (const shift of ['', 'a', 'ab', '\u{1f469}']) {
      const text = shift + [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
      expect((await percentDecoded(text))?.equals(Buffer.concat([Buffer.from(shift), bytes]))).toBe(true);
    }
    expect(await percentDecoded(`${'%41'.repeat(200_000)}%4`)).toBeNull();
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
