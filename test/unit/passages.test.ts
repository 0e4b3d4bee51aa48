import { describe, expect, test } from 'vitest';
import { chunksOf } from '../../src/agents/knowledge/chunks.js';

describe('passages of a text', () => {
  test('end after a paragraph, else a line, else a sentence, else a word, and repeat a little of the one before', () => {
    for (const mark of ['\n\n', '\n', '. ', ' ']) {
      const text = Array.from({ length: 60 }, (_, i) => `Sentence number ${i} tells of water`).join(mark);
      const [first = '', second = ''] = chunksOf(text);
      expect(first.length).toBeLessThanOrEqual(900);
      expect(first).toMatch(mark === ' ' ? /\w$/ : /water\.?$/);
      expect(first).toContain(second.slice(0, 20));
    }
  });

  // A search back to the beginning of the text, for each passage, would take minutes here, and hold the whole process meanwhile.
  test.each([
    ['of lines without paragraphs', (i: number) => `${i},customer ${i},12.50,2026-01-01\n`],
    ['of one line', (i: number) => `word${i} `],
    ['without a blank', (i: number) => `word${i}`],
  ])('of 12 MB %s are all found', (_what, piece) => {
    let text = '';
    for (let i = 0; text.length < 12e6; i++) text += piece(i);
    const chunks = chunksOf(text);
    expect(chunks.length).toBeGreaterThan(12e6 / 900);
    expect(text.trim().endsWith(chunks.at(-1) ?? '-')).toBe(true);
  });
});
