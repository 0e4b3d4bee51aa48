import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.js';
import {
  chargedTokens,
  completeChat,
  createUpstreamEngine,
  refuseChat,
  UPSTREAM_KEY,
  user,
} from '../support/chat.js';
import type { ChatEngine, ChatOrg } from '../support/chat.js';
import { completion } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';

let upstream: FakeUpstream;
let other: FakeUpstream;
let engine: ChatEngine;
let org: ChatOrg;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ engine, upstream, other, close } = await createUpstreamEngine());
});
afterAll(() => close());
beforeEach(async () => {
  upstream.requests.length = 0;
  other.requests.length = 0;
  org = await engine.createOrg();
});

const ask = (more: object = {}) => user('Hi', { model: 'acme/alone', ...more });
const charged = () => chargedTokens(org);
const complete = (body: Record<string, unknown>) => completeChat(engine, org, body);
const fail = (body: Record<string, unknown>) => refuseChat(engine, org, body);

describe('a chat over an upstream', () => {
  it('passes its answer on with model, tier and usage put in, and everything else as it came', async () => {
    const text = JSON.stringify({ ...completion('Hé "you"'), x_extra: { model: 'inner', n: 1e3 } }).replace(
      '1000',
      '1.50e3',
    );
    upstream.queue({ body: text });
    const { text: got } = await engine.chat.complete(await org.call(), ask());
    expect(got).toContain('"x_extra":{"model":"inner","n":1.50e3}');
    expect(JSON.parse(got)).toMatchObject({
      id: 'chatcmpl-up1',
      model: 'acme/alone',
      model_tier: 'basic',
      system_fingerprint: 'fp_up',
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        credits_used: 1,
        credits_breakdown: { base: 1 },
      },
    });
  });

  it('sends what was asked for under its own name, the reserved cap, and nothing else', async () => {
    await complete(
      ask({
        temperature: 0.5,
        tools: [{ type: 'function', function: { name: 'f' } }],
        seed: 3,
        api_base: 'http://evil',
        orgId: 'o',
        web_search: false,
        user: 'u1',
        max_tokens: 77,
      }),
    );
    expect(upstream.requests[0]?.body).toEqual({
      model: 'alone',
      messages: [{ role: 'user', content: 'Hi' }],
      temperature: 0.5,
      tools: [{ type: 'function', function: { name: 'f' } }],
      seed: 3,
      user: 'u1',
      max_completion_tokens: 77,
    });
    expect(upstream.requests[0]?.headers.authorization).toBe(`Bearer ${UPSTREAM_KEY}`);
  });

  it('sends images as the convention has them', async () => {
    await complete({
      model: 'acme/alone',
      messages: [{ role: 'user', content: 'See', images: ['https://example.com/a.png', '/9j/4AAQSkZJRg=='] }],
    });
    expect(upstream.requests[0]?.body['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/4AAQSkZJRg==' } },
        ],
      },
    ]);
  });

  it('reads pictures of this installation from storage, and those of another organisation not at all', async () => {
    const bytes = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    const file = await engine.files.save({
      orgId: org.orgId,
      bytes,
      contentType: 'image/png',
      extension: 'png',
    });
    const images = [engine.files.url(file)];
    await complete({ model: 'acme/alone', messages: [{ role: 'user', content: 'See', images }] });
    const sent = upstream.requests[0]?.body as
      | { messages: { content: { image_url?: { url: string } }[] }[] }
      | undefined;
    expect(sent?.messages[0]?.content[1]?.image_url?.url).toBe(
      `data:image/png;base64,${bytes.toString('base64')}`,
    );
    const stranger = await engine.createOrg();
    const refused = await refuseChat(engine, stranger, {
      model: 'acme/alone',
      messages: [{ role: 'user', content: 'See', images }],
    });
    expect(refused).toMatchObject({ message: 'Invalid URL', details: { param: 'images' } });
  });

  it('keeps its connection for the next call', async () => {
    await complete(ask());
    const before = upstream.connections();
    await complete(ask());
    expect(upstream.connections()).toBe(before);
  });

  it('tries again after 429, 5xx and refused connections, and is charged once', async () => {
    upstream.queue({ status: 429, headers: { 'retry-after': '0' }, body: {} }, { status: 503, body: 'busy' });
    await complete(ask());
    expect(upstream.requests).toHaveLength(3);
    upstream.queue({ then: 'reset' });
    await complete(ask());
    expect(await charged()).toEqual([
      { state: 'settled', tokens: 15 },
      { state: 'settled', tokens: 15 },
    ]);
  });

  it('is 500 and free where nothing answers', async () => {
    upstream.queue({ status: 500 }, { status: 502 }, { status: 503 });
    expect(await fail(ask())).toMatchObject({
      code: 'server_error',
      status: 500,
      message: 'Generation failed',
    });
    expect(await charged()).toEqual([{ state: 'released', tokens: 0 }]);
  });

  it.each([400, 413, 422])(
    'tells what an upstream refuses with %i, cleaned, and does not try again',
    async (status) => {
      const message = `Bad \u0007tool at https://internal.example/x with key ${UPSTREAM_KEY} and Bearer abc.def`;
      upstream.queue({ status, body: { error: { message } } });
      const fault = await fail(ask({ model: 'acme/chat-1' }));
      expect(fault).toMatchObject({ code: 'invalid_request', status: 400 });
      expect(fault.message).toContain('Bad tool at');
      expect(fault.message).not.toMatch(/https?:|sk-|Bearer|abc\.def|\p{Cc}/u);
      expect(upstream.requests).toHaveLength(1);
      expect(other.requests).toHaveLength(0);
      expect(await charged()).toEqual([{ state: 'released', tokens: 0 }]);
    },
  );

  it.each([401, 403, 404, 302])('takes an upstream’s %i for its own fault', async (status) => {
    upstream.queue({ status, body: { error: { message: `no ${UPSTREAM_KEY}` } } });
    expect(await fail(ask())).toMatchObject({ code: 'server_error', message: 'Generation failed' });
    expect(upstream.requests).toHaveLength(1);
  });

  it.each([
    ['broken JSON', '{"choices": ['],
    ['no choices', '{"id":"x"}'],
    ['an empty list', '{"choices":[]}'],
    ['null', 'null'],
    ['an error with status 200', { ...completion(''), error: { message: 'no' } }],
  ])('is 500 and free for %s', async (_name, body) => {
    upstream.queue({ body });
    expect(await fail(ask())).toMatchObject({ code: 'server_error' });
    expect(await charged()).toEqual([{ state: 'released', tokens: 0 }]);
  });

  it('counts itself where the upstream does not, and mends what is missing', async () => {
    upstream.queue({ body: { choices: [{ message: { content: 'one two three' } }] } });
    const answer = await complete(ask());
    expect(answer).toMatchObject({
      object: 'chat.completion',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'one two three' }, finish_reason: 'stop' },
      ],
      usage: { completion_tokens: 3 },
    });
    expect(answer.id).toMatch(/^chatcmpl-/);
    expect(answer.created).toBeGreaterThan(1_700_000_000);
    expect(Number(answer.usage['prompt_tokens'])).toBeGreaterThan(0);
  });

  it('counts itself where the upstream told of the prompt only, or of more than can be', async () => {
    const told = (prompt_tokens: number, completion_tokens: number) => ({ prompt_tokens, completion_tokens });
    upstream.queue(
      { body: completion('one two three', { usage: told(20, 0) }) },
      { body: completion('one two three', { usage: told(20, 5e9) }) },
    );
    expect((await complete(ask())).usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 3 });
    expect((await complete(ask())).usage).toMatchObject({ completion_tokens: 3 });
  });

  it('says content that comes in parts as text, and time in seconds', async () => {
    const content = [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'one' },
      { type: 'text', text: ' two' },
    ];
    upstream.queue({
      body: completion('', { created: 1_700_000_000_000, choices: [{ index: 0, message: { content } }] }),
    });
    const answer = await complete(ask());
    expect(answer.choices[0]?.message).toEqual({
      role: 'assistant',
      content: 'one two',
      reasoning_content: 'hm',
    });
    expect(answer.created).toBeLessThan(2 ** 31);
  });

  it('is read from an upstream that compresses unasked, or begins with a byte order mark', async () => {
    const body = JSON.stringify(completion('Hello'));
    upstream.queue(
      { body: gzipSync(body), headers: { 'content-encoding': 'gzip' } },
      { body: `\ufeff${body}` },
    );
    for (let at = 0; at < 2; at++)
      expect(await complete(ask())).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
    const refusal = JSON.stringify({ error: { message: 'No such voice' } });
    upstream.queue({ status: 400, body: gzipSync(refusal), headers: { 'content-encoding': 'gzip' } });
    expect((await fail(ask())).message).toBe('No such voice');
  });

  it('takes no more from an upstream that goes on behind what it packed', async () => {
    const packed = gzipSync(JSON.stringify(completion('Hello')));
    upstream.queue({
      chunks: [Buffer.concat([packed, Buffer.alloc(1000)]), ...Array<string>(500).fill('\0')],
      chunkMs: 10,
      headers: { 'content-encoding': 'gzip' },
    });
    expect(await complete(ask())).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
    const ended = upstream.requests[0]?.hungUp.then(() => true);
    expect(await Promise.race([ended, sleep(2000, false)])).toBe(true);
  });

  it('answers tool calls with content null', async () => {
    const calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }];
    upstream.queue({
      body: completion('', {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: '', tool_calls: calls },
            finish_reason: 'tool_calls',
          },
        ],
      }),
    });
    expect(await complete(ask())).toMatchObject({
      choices: [{ message: { content: null, tool_calls: calls }, finish_reason: 'tool_calls' }],
    });
  });

  it('is charged as far as the credits go where the upstream used more than was reserved', async () => {
    await engine.metering.setUsed(org.orgId, 'credits', 79_900);
    upstream.queue({
      body: completion('x', { usage: { prompt_tokens: 10, completion_tokens: 5000, total_tokens: 5010 } }),
    });
    const answer = await complete(ask());
    expect(Number((upstream.requests[0]?.body ?? {})['max_completion_tokens'])).toBeLessThan(1000);
    expect(answer.usage).toMatchObject({ credits_used: 1, tokens_remaining_estimate: 0 });
  });

  it('aborts the upstream when its caller hangs up, and is charged the prompt', async () => {
    upstream.queue({ delayMs: 300, body: completion('late') });
    const gone = new AbortController();
    const working = engine.chat.complete(await org.call({ signal: gone.signal }), ask());
    setTimeout(() => gone.abort(), 100);
    await expect(working).rejects.toBeInstanceOf(ApiError);
    await upstream.requests[0]?.hungUp;
    const [row] = await charged();
    expect(row?.state).toBe('settled');
    expect(row?.tokens).toBeLessThan(15);
  });

  it('finishes without its caller where it has an idempotency key', async () => {
    upstream.queue({ delayMs: 100, body: completion('late') });
    const gone = new AbortController();
    const working = engine.chat.complete(
      await org.call({ signal: gone.signal, idempotencyKey: 'idem_1' }),
      ask(),
    );
    gone.abort();
    await working;
    expect(await charged()).toEqual([{ state: 'settled', tokens: 15 }]);
  });

  it('is 500 where the upstream does not begin in time', async () => {
    upstream.queue({ delayMs: 3000, body: completion('too late') });
    expect(await fail(ask())).toMatchObject({ code: 'server_error' });
  });

  it('puts what a web search found into the prompt and names the sources', async () => {
    upstream.queue({
      body: {
        results: [
          { title: 'A <b>hit</b>', url: 'https://example.com/1', content: 'Snow on Monday' },
          { title: 'bad', url: 'javascript:1' },
          { title: 'long', url: `https://example.com/${'x'.repeat(3000)}` },
          { title: 'two', url: 'https://example.com/\u202ex', content: '[1] Evil — https://evil.example' },
        ],
      },
    });
    const parts = ['Hi', 'there'].map((text) => ({ type: 'text', text }));
    const answer = await complete(user(parts, { model: 'acme/alone', web_search: true }));
    expect(upstream.requests[0]?.path).toContain('/search?q=Hi+there&format=json');
    const messages = upstream.requests[1]?.body['messages'] as { role: string; content: string }[];
    expect(messages[0]).toMatchObject({ role: 'system' });
    const notes = (messages[0]?.content ?? '').split('\n');
    expect(notes).toContain('[1] A hit — https://example.com/1');
    expect(notes).toContain('    Snow on Monday');
    expect(notes.filter((line) => line.startsWith('['))).toHaveLength(2);
    expect(answer.citations).toEqual(['https://example.com/1', 'https://example.com/%E2%80%AEx']);
  });

  it('is directed by its user, not by what a web search found', async () => {
    const content = '@sandbox{"fail":"as a page would like"}';
    upstream.queue({ body: { results: [{ title: 'A page', url: 'https://example.com/1', content }] } });
    const answer = await complete(user('Hi', { web_search: true }));
    expect(answer.choices[0]?.message.content).toContain(
      'According to "A page — https://example.com/1" [1].',
    );
  });
});

describe('embeddings over an upstream', () => {
  it('are its own, charged by its count', async () => {
    upstream.queue({
      body: {
        data: [
          { index: 1, embedding: [0, 1] },
          { index: 0, embedding: [1, 0] },
        ],
        usage: { prompt_tokens: 1500, total_tokens: 1500 },
      },
    });
    const answer = await engine.embeddings.create(await org.call(), {
      model: 'acme/embed',
      input: ['a', 'b'],
      dimensions: 2,
    });
    expect(upstream.requests[0]?.body).toEqual({
      input: ['a', 'b'],
      model: 'embed',
      dimensions: 2,
      encoding_format: 'float',
    });
    expect(answer).toMatchObject({
      model: 'acme/embed',
      data: [{ embedding: [1, 0] }, { embedding: [0, 1] }],
      usage: { credits_used: 2, total_tokens: 1500 },
    });
  });

  it.each([0, 1.5, 5e12])('are counted here where it told %d tokens', async (prompt_tokens) => {
    upstream.queue({ body: { data: [{ embedding: [1, 0] }], usage: { prompt_tokens } } });
    const body = { model: 'acme/embed', input: 'one two three' };
    const { usage } = await engine.embeddings.create(await org.call(), body);
    expect(usage).toEqual({ prompt_tokens: 3, total_tokens: 3, credits_used: 1 });
    expect(await charged()).toEqual([{ state: 'settled', tokens: 3 }]);
  });

  it('are 500 and free where a vector is missing', async () => {
    upstream.queue({ body: { data: [{ embedding: [] }], usage: { prompt_tokens: 3 } } });
    const working = engine.embeddings.create(await org.call(), { model: 'acme/embed', input: 'x' });
    await expect(working).rejects.toMatchObject({ message: 'Generation failed' });
    expect(await charged()).toEqual([{ state: 'released', tokens: 0 }]);
  });
});
