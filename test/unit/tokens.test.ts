import { beforeAll, describe, expect, it } from 'vitest';
import { createTokenizer } from '../../src/text/tokenizer.js';

const tokenizer = createTokenizer();
beforeAll(() => tokenizer.load());

describe('the tokenizer', () => {
  it('counts what the o200k vocabulary counts', () => {
    expect(tokenizer.count('Hello, world!')).toBe(4);
    expect(tokenizer.count('')).toBe(0);
    expect(tokenizer.count('The quick brown fox jumps over the lazy dog.')).toBe(10);
  });

  it('counts special tokens in a text as plain text', () => {
    expect(tokenizer.count('<|endoftext|>')).toBeGreaterThan(3);
    expect(tokenizer.count('<|im_start|>system')).toBeGreaterThan(3);
  });

  it.each([
    ['one letter', 'a'.repeat(400_000)],
    ['spaces', ' '.repeat(400_000)],
    ['newlines and slashes', '/\n'.repeat(200_000)],
    ['ideographs', '漢'.repeat(100_000)],
    ['combining marks', 'e\u0301'.repeat(100_000)],
    ['emoji', '😀'.repeat(50_000)],
    ['punctuation', '!?'.repeat(200_000)],
  ])('counts a run of %s without blocking for long', async (_name, text) => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const tokens = await tokenizer.countAll([text], Number.POSITIVE_INFINITY);
    clearInterval(timer);
    expect(tokens).toBeGreaterThan(1000);
    expect(turns).toBeGreaterThan(0);
  });

  it('stops counting once the limit is passed', async () => {
    const text = 'The quick brown fox jumps over the lazy dog. '.repeat(100_000);
    const tokens = await tokenizer.countAll([text], 1000);
    expect(tokens).toBeGreaterThan(1000);
    expect(tokens).toBeLessThan(30_000);
  });

  it('counts a long text in slices as it counts it whole', async () => {
    const text = 'It was a bright cold day in April, and the clocks were striking thirteen. '.repeat(3000);
    expect(await tokenizer.countAll([text], Number.POSITIVE_INFINITY)).toBe(tokenizer.count(text));
  });

  it('splits a text into its tokens and loses nothing, multi-byte characters included', () => {
    const text = 'Grüße 😀👩‍👩‍👧 漢字, naïve – 𝔘nicode';
    const pieces = tokenizer.split(text);
    expect(pieces.map((piece) => piece.text).join('')).toBe(text);
    expect(pieces.reduce((sum, piece) => sum + piece.tokens, 0)).toBe(tokenizer.count(text));
  });
});
