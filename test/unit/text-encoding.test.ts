import { describe, expect, it } from 'vitest';
import { kindOf } from '../../src/agents/knowledge/file-kind.js';
import { tableText } from '../../src/agents/knowledge/table-text.js';
import { decodeText, inUtf8 } from '../../src/agents/knowledge/text-encoding.js';
import { encoded, ENCODED } from '../support/encoded-text.js';

describe('a text is read in the encoding that it was written in', () => {
  it.each(ENCODED)('%s: %s', async (encoding, _, text) => {
    const bytes = encoded(text, encoding);
    expect(decodeText(bytes)).toBe(text);
    expect(
      inUtf8(bytes)
        .toString('utf8')
        .replace(/^\ufeff/, ''),
    ).toBe(text);
    expect(await kindOf([bytes], 'a.csv')).toBe('csv');
    expect(
      await kindOf(
        [...bytes].map((byte) => Buffer.from([byte])),
        'a.txt',
      ),
    ).toBe('txt');
  });

  it.each(ENCODED)('also where it begins far behind ASCII: %s, %s', (encoding, _, text) => {
    const long = `${'name,price\n'.repeat(30_000)}${text}`;
    expect(decodeText(encoded(long, encoding)).endsWith(text)).toBe(true);
  });

  it.each([
    ['windows-1252', 'Café – “naïve” €20'],
    ['windows-1252', 'It’s 5 o’clock — don’t panic…'],
    ['windows-1252', 'Åse Ærø, Øystein'],
    ['iso-8859-2', 'Žluťoučký kůň úpěl ďábelské ódy'],
    ['utf-16le', 'Привет мир'],
    ['utf-16be', 'Καλημέρα'],
    ['gbk', '价格表'],
    ['shift_jis', '東京,大阪'],
    ['big5', '姓名,年齡'],
    ['euc-kr', '이름,나이'],
  ])('also where there is little of it: %s, %s', (encoding, text) => {
    expect(decodeText(encoded(text, encoding))).toBe(text);
  });

  it('and a table in it has its columns', () => {
    const bytes = encoded('名前;値段\nりんご;350\nバナナ;220\n', 'shift_jis');
    expect(tableText(bytes).join('')).toBe('名前: りんご; 値段: 350\n名前: バナナ; 値段: 220\n');
  });
});

it.each([
  ['a NUL', Buffer.from('text\0more text')],
  ['NULs here and there', Buffer.from('a\0bc\0def\0')],
  ['a control character behind an accent', Buffer.from('caf\xe9 \x01', 'latin1')],
  ['half of a pair', Buffer.concat([Buffer.from('\ufefftext', 'utf16le'), Buffer.from([0xd8])])],
])('%s makes no text', async (_, bytes) => {
  expect(await kindOf([bytes], 'a.txt')).toBeNull();
});
