import { describe, expect, test } from 'vitest';
import { chunksOf } from '../../src/agents/knowledge/chunks.js';

describe('passages of a text', () => {
  test('end after a paragraph, else a line, else a sentence, else a word, and repeat a little of the one before', () => {
    for (const mark of ['\n\n', '\n', '. ', ' ']) {
      const text = Array.from({ length: 60 }, (_, i) => `Sentence number ${i} tells of water`).join(mark);
      const [first = '', second = ''] = chunksOf([text]);
      expect(first.length).toBeLessThanOrEqual(900);
      expect(first).toMatch(mark === ' ' ? /\w$/ : /water\.?$/);
      expect(first).toContain(second.slice(0, 20));
    }
  });

  test.each([6, 25, 50])('of %i MB are at most some 40,000, however its lines break them', (mb) => {
    const line = `${'x'.repeat(460 + mb * 20)}\n`;
    const piece = line.repeat(1000);
    const pieces = Array.from({ length: Math.ceil((mb * 2 ** 20) / piece.length) }, () => piece);
    const lengths = Array.from(chunksOf(pieces), ({ length }) => length);
    expect(lengths.length).toBeLessThanOrEqual(40_001);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(Math.max(900, mb * 60));
  });

  // A search back to the beginning of the text, for each passage, would take minutes here, and hold the whole process meanwhile.
  test.each([
    ['of lines without paragraphs', (i: number) => `${i},customer ${i},12.50,2026-01-01\n`],
    ['of one line', (i: number) => `word${i} `],
    ['without a blank', (i: number) => `word${i}`],
  ])('of 12 MB %s are all found', (_what, piece) => {
    let text = '';
    for (let i = 0; text.length < 12e6; i++) text += piece(i);
    const chunks = [...chunksOf([text])];
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(1000);
    expect(text.trim().endsWith(chunks.at(-1) ?? '-')).toBe(true);
  });
});
