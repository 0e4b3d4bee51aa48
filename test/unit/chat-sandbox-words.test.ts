import { beforeAll, describe, expect, it } from 'vitest';
import { findDirective } from '../../src/sandbox/directive/directive.js';
import { sampleOfPattern } from '../../src/sandbox/chat/pattern-sample.js';
import { LINKS, NOUNS, OPENERS, VERBS } from '../../src/sandbox/chat/prose.js';
import { createRandom } from '../../src/sandbox/random.js';
import { sampleOfSchema, SchemaTooLargeError } from '../../src/sandbox/chat/schema-sample.js';
import { createTokenizer } from '../../src/text/tokenizer.js';
import { schemas } from '../support/hostile-texts.js';
import { cleanMessage, errorOfStatus } from '../../src/providers/openai-compatible/upstream-errors.js';

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

  const many = (count: number) => Array.from({ length: count }, (_, at) => `k${at}`);
  const sampled = (schema: unknown) => sampleOfSchema(schema, createRandom('x'));

  it('follow references as JSON pointers write them', () => {
    const $defs = {
      'a/b': { const: 1 },
      'a%b': { const: 2 },
      'a~b': { const: 3 },
      é: { const: 4 },
      '%ff': { const: 5 },
    };
    const list = [{ const: 6 }, { const: 7 }];
    const properties = {
      slash: { $ref: '#/$defs/a~1b' },
      percent: { $ref: '#/$defs/a%25b' },
      tilde: { $ref: '#/$defs/a~0b' },
      encoded: { $ref: '#/$defs/%C3%A9' },
      broken: { $ref: '#/$defs/%ff' },
      item: { $ref: '#/list/1' },
    };
    expect(sampled({ type: 'object', properties, $defs, list })).toEqual({
      slash: 1,
      percent: 2,
      tilde: 3,
      encoded: 4,
      broken: 5,
      item: 7,
    });
    for (const $ref of [
      '#/%ff',
      '#/%',
      '#/%e0%a4',
      '#/__proto__',
      '#/list/length',
      '#/constructor/name',
      'x',
      '#',
      '#/',
    ])
      expect(() => JSON.stringify(sampled({ $ref }))).not.toThrow();
    const own = JSON.parse(
      '{"properties":{"__proto__":{"const":1}},"allOf":[{"__proto__":{"const":2}}]}',
    ) as unknown;
    expect(JSON.stringify(sampled(own))).toBe('{"__proto__":1}');
  });

  it('have all of what several parts of a schema ask for', () => {
    const parts = [
      { properties: { a: { const: 1 } }, required: ['a', 'b'] },
      { properties: { b: { const: 2 } } },
    ];
    expect(sampled({ type: 'object', properties: { c: { const: 3 } }, allOf: parts })).toEqual({
      c: 3,
      a: 1,
      b: 2,
    });
    const properties = Object.fromEntries(many(4000).map((key) => [key, { type: 'integer' }]));
    expect(Object.keys(sampled({ type: 'object', properties, required: many(4000) }) as object)).toHaveLength(
      4000,
    );
    const tree = {
      $ref: '#/$defs/t',
      $defs: {
        t: {
          type: 'object',
          required: ['v'],
          properties: { v: { const: 1 }, l: { $ref: '#/$defs/t' }, r: { $ref: '#/$defs/t' } },
        },
      },
    };
    expect(sampled(tree)).toMatchObject({ v: 1, l: { v: 1 }, r: { v: 1 } });
  });

  it.each(schemas())('of a schema are made or refused in bounded time: $form', ({ value }) => {
    const before = process.threadCpuUsage().user;
    try {
      expect(JSON.stringify(sampled(value)).length).toBeLessThan(3_000_000);
    } catch (error) {
      expect(error).toBeInstanceOf(SchemaTooLargeError);
    }
    // Some 20 ms; seconds before there was a bound.
    expect((process.threadCpuUsage().user - before) / 1000).toBeLessThan(250);
  });

  it('of hostile patterns and schemas end soon', () => {
    sampleOfPattern(`${'('.repeat(200)}a${'){64}'.repeat(200)}`, random);
    sampleOfPattern(`${'('.repeat(300)}^${'){64}'.repeat(300)}`, random);
    const wide: Record<string, unknown> = { $ref: '#', properties: {} };
    for (let index = 0; index < 50; index++)
      (wide['properties'] as Record<string, unknown>)[`p${index}`] = { $ref: '#' };
    sampleOfSchema(wide, random);
    expect(() =>
      sampleOfSchema({ type: 'object', required: many(3), additionalProperties: { $ref: '#' } }, random),
    ).toThrow(SchemaTooLargeError);
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

  const toldOf = (message: string) =>
    errorOfStatus({
      status: 400,
      body: JSON.stringify({ error: { message } }),
      retryAfter: undefined,
      secrets: [],
    }).message;

  it.each([
    'Traceback (most recent call last):\n  File "/opt/vllm/engine.py", line 42, in step\nValueError: bad',
    'bad:\\nTraceback (most recent call last):\\n  File \\"engine.py\\", line 42, in step',
    'File "<stdin>", line 1, in <module>',
    'TypeError: x\n    at Object.<anonymous> (/app/server.js:10:5)',
    'TypeError: x\n    at async run (file:///app/server.mjs:10:5)',
    'TypeError: x\n    at file:///app/server.mjs:10:5',
    'TypeError: x\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
    'java.lang.IllegalStateException: no\n\tat com.acme.llm.Server.step(Server.java:17)',
    'no\n\tat java.base/jdk.internal.reflect.Method.invoke0(Native Method)',
    'System.Exception: x\n   at Acme.Llm.Step(String s) in C:\\src\\Step.cs:line 42',
    'panic: x\n\ngoroutine 1 [running]:\nmain.main()',
    "thread 'main' panicked at src/main.rs:3:5",
    'SELECT id, hash FROM api_keys WHERE x=1',
    'Key not found\\nSELECT id FROM api_keys',
    'select "u"."id" from "users" as "u" where "u"."id" = $1 - no such column',
    'no such column: select id from api_keys',
    'INSERT INTO jobs (id) VALUES (1): duplicate',
    'insert into jobs values ($1) - duplicate',
    'UPDATE jobs SET state = 1 failed',
    'update jobs set state = $1 - failed',
    'DELETE FROM jobs failed',
  ])('that holds a stack trace or SQL is not told: %j', (message) => {
    expect(toldOf(message)).toBe('The request was rejected by the model provider');
  });

  it.each([
    ['cannot open /etc/passwd today', 'cannot open [removed] today'],
    ['No such file: "/home/jürgen/x"', 'No such file: "[removed]"'],
    ['bad file=/opt/x/y.py, sorry', 'bad [removed] sorry'],
    ['(/secret.txt)', '[removed]'],
    ['see C:\\x\\y or d:/x', 'see [removed] or [removed]'],
    ['on \\\\server\\share it was', 'on [removed] it was'],
    ['in ~/llm/conf and ../llm/conf', 'in [removed] and [removed]'],
    ['engine/core.py:42 says no', '[removed] says no'],
    ['lost\\n/etc/passwd', '[removed]'],
  ])('loses its file paths: %j', (message, told) => {
    expect(toldOf(message)).toBe(told);
  });

  it.each([
    'messages[0].content is too long',
    'the input/output ratio is off',
    'max_tokens must be 1/2 of 1/4 and/or more, km/h',
    'model gpt-4/turbo not found',
    'meta-llama/Llama-3.1-8B-Instruct and @cf/meta/llama-2-7b have no tools',
    'either a/b or c, text/event-stream or application/json',
    'Please select a model from the list, update your client and set stream to true',
    'Set temperature, select one of low / high, or delete it from your request',
    "name does not match '^[a-zA-Z0-9_-]{1,64}$' or /^[a-z]+$/",
    'Unexpected end at line 3, column 5: expected one of (json:1)',
    'Invalid date 2024/01/02 at 12:30:45 (at most 5:1)',
    'The token </s> or [/INST] or <think/> is reserved',
    'größe/höhe must be whole',
  ])('that is plain stays as it is: %j', (message) => {
    expect(toldOf(message)).toBe(message);
  });

  it.each(['at ', 'SELECT ', '/a', 'at /:1', 'File "', '(a.b', '/.', '\\\\', 'caused by: x.', '#1 ', 'a-'])(
    'is soon looked through where it is nothing but %j',
    (part) => {
      expect(toldOf(part.repeat(1_000_000)).length).toBeLessThanOrEqual(300);
    },
  );

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
