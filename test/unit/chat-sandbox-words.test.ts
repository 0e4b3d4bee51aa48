import { beforeAll, describe, expect, it } from 'vitest';
import { findDirective } from '../../src/providers/sandbox/directive.js';
import { sampleOfPattern } from '../../src/providers/sandbox/pattern-sample.js';
import { LINKS, NOUNS, OPENERS, VERBS } from '../../src/providers/sandbox/prose.js';
import { createRandom } from '../../src/providers/sandbox/random.js';
import { sampleOfSchema } from '../../src/providers/sandbox/schema-sample.js';
import { createTokenizer } from '../../src/providers/sandbox/tokens.js';
import { cleanMessage, errorOfStatus } from '../../src/providers/upstream/upstream-errors.js';

const tokenizer = createTokenizer();
beforeAll(() => tokenizer.load());

describe('the sandbox’s words', () => {
  it('are one token each, so that an answer has exactly the tokens that it counts', () => {
    for (const word of [...OPENERS, ...NOUNS, ...VERBS, ...LINKS, '.'])
      expect(tokenizer.count(word), word).toBe(1);
  });
});

describe('a directive', () => {
  it('is read wherever it stands, strings with braces included', () => {
    const found = findDirective('a @sandbox{"fail":"x } \\" {","tokens":3.7,"chunk_ms":-1,"delay_ms":"5"} b');
    expect(found).toEqual({ directive: { fail: 'x } " {', tokens: 3 }, rest: 'a  b' });
  });

  it('is the first well-formed one', () => {
    expect(findDirective('@sandbox{oops} @sandbox{"tokens":1} @sandbox{"tokens":2}').directive).toEqual({
      tokens: 1,
    });
    expect(findDirective('@sandbox{"tokens":1').directive).toBeNull();
    expect(findDirective('@sandbox{'.repeat(5000)).directive).toBeNull();
    expect(findDirective(`@sandbox{ @sandbox{"tokens":2}`).directive).toEqual({ tokens: 2 });
  });

  it('is soon not found where marks stand in one another', () => {
    const nested = `${'@sandbox{'.repeat(200_000)}${'}'.repeat(200_000)}`;
    expect(findDirective(nested).directive).toBeNull();
  });
});

describe('samples', () => {
  const random = createRandom('x');
  it.each([
    '^[A-Z]{2}\\d{3,5}$',
    '^(foo|bar)+-[^a-z]\\w*$',
    '^\\S+@example\\.com$',
    '^(?:a(b)?){3}$',
    '.*',
    '^$',
  ])('of %s match it', (pattern) => {
    expect(sampleOfPattern(pattern, random)).toMatch(new RegExp(pattern));
  });

  it('of hostile patterns and schemas end soon', () => {
    sampleOfPattern(`${'('.repeat(200)}a${'){64}'.repeat(200)}`, random);
    sampleOfPattern(`${'('.repeat(300)}^${'){64}'.repeat(300)}`, random);
    const wide: Record<string, unknown> = { $ref: '#', properties: {} };
    for (let index = 0; index < 50; index++)
      (wide['properties'] as Record<string, unknown>)[`p${index}`] = { $ref: '#' };
    sampleOfSchema(wide, random);
    sampleOfSchema(
      {
        type: 'array',
        minItems: 1e9,
        items: { type: 'array', minItems: 1e9, items: { type: 'array', minItems: 1e9 } },
      },
      random,
    );
    sampleOfSchema(
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
      random,
    );
    sampleOfSchema({ allOf: [{ $ref: '#' }] }, random);
    const pattern = { type: 'string', pattern: '^([a-z]{50}){50}$' };
    const names = Array.from({ length: 10_000 }, (_, at) => `p${at}`);
    const properties = Object.fromEntries(names.map((name) => [name, pattern]));
    sampleOfSchema({ type: 'object', properties, required: names }, random);
  });
});

describe('an upstream’s message', () => {
  it('loses addresses, credentials and control characters, and is cut', () => {
    const clean = cleanMessage(
      `a\nb http://10.0.0.1/x sk-abcdef123456 Bearer zzz mykey ${'0a'.repeat(20)} ${'w '.repeat(400)}`,
      ['mykey'],
    );
    expect(clean).toMatch(/^a b \[removed\] \[removed\] \[removed\] \[removed\] \[removed\] w w/);
    expect(clean.length).toBeLessThanOrEqual(300);
  });

  it('is tried again when its Retry-After says, in seconds or as a date, soon where it says nothing that is known', () => {
    const wait = (retryAfter: string | undefined) =>
      errorOfStatus({ status: 503, body: '', retryAfter, secrets: [] }).options.retryAfterMs;
    expect([wait('2'), wait('0.5'), wait('3600'), wait('x'), wait(''), wait(undefined)]).toEqual([
      2000,
      500,
      10_000,
      undefined,
      undefined,
      undefined,
    ]);
    const untilDate = wait(new Date(Date.now() + 8000).toUTCString()) ?? 0;
    expect(untilDate).toBeGreaterThan(0);
    expect(untilDate).toBeLessThanOrEqual(8000);
    expect(wait(new Date(0).toUTCString())).toBe(0);
  });
});
