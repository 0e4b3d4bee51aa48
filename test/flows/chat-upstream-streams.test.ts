import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Transport } from '../../src/providers/index.js';
import { chargedTokens, createUpstreamEngine, streamChat, user } from '../support/chat.js';
import type { ChatEngine, ChatOrg, ChunkShape } from '../support/chat.js';
import { chunk, completion, DONE_EVENT, event, usageChunk } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';

let upstream: FakeUpstream;
let engine: ChatEngine;
let org: ChatOrg;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ engine, upstream, close } = await createUpstreamEngine());
});
afterAll(() => close());
beforeEach(async () => {
  upstream.requests.length = 0;
  org = await engine.createOrg();
});

const ask = (more: object = {}) => user('Hi', { model: 'acme/alone', ...more });
const charged = () => chargedTokens(org);
const read = (body: Record<string, unknown>) => streamChat(engine, org, body);

describe('a streamed chat over an upstream', () => {
  it('passes chunks on with the model put in, and keeps the usage for the last', async () => {
    const { chunks, fault } = await read(ask({ stream: true }));
    expect(fault).toBeNull();
    expect(upstream.requests[0]?.body).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(chunks).toHaveLength(7);
    expect(chunks.every((one) => one.model === 'acme/alone' && one.id === 'chatcmpl-up1')).toBe(true);
    expect(chunks.slice(0, -1).every((one) => !('usage' in one))).toBe(true);
    expect(chunks.at(-1)).toMatchObject({
      model_tier: 'basic',
      choices: [{ finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        credits_used: 1,
        credits_breakdown: { base: 1 },
      },
    });
    expect(await charged()).toEqual([{ state: 'settled', tokens: 15 }]);
  });

  it('sends the usage alone where include_usage is set', async () => {
    const { chunks } = await read(ask({ stream_options: { include_usage: true } }));
    expect(chunks).toHaveLength(8);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      model: 'acme/alone',
      usage: { total_tokens: 15, credits_used: 1 },
    });
    expect(chunks.slice(0, -1).every((one) => one.usage == null)).toBe(true);
  });

  it('reads chunks wherever the network cuts them, CRLF and comments included', async () => {
    const text = [
      ': ping\r\n\r\n',
      chunk({ role: 'assistant', content: 'Grü' }).replaceAll('\n', '\r\n'),
      'event: message\nid: 3\n',
      chunk({ content: 'ße 😀' }),
      chunk({}, { finish_reason: 'stop' }),
      usageChunk(10, 4),
      DONE_EVENT,
    ].join('');
    const bytes = Buffer.from(text, 'utf8');
    for (const size of [1, 7, 50]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      upstream.queue({ chunks: pieces });
      const { chunks } = await read(ask());
      const content = chunks.map((one) => one.choices[0]?.delta.content ?? '').join('');
      expect(content).toBe('Grüße 😀');
      expect(chunks.at(-1)).toMatchObject({ usage: { completion_tokens: 4 } });
    }
  });

  it('takes usage out of chunks on their way, gives the first one its role, and mends reasons', async () => {
    upstream.queue({
      chunks: [
        chunk({ content: 'a' }, { usage: null }),
        chunk({ content: 'b' }, { usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } }),
        chunk(
          { content: 'c' },
          { finish_reason: 'eos', usage: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 } },
        ),
      ],
    });
    const { chunks, fault } = await read(ask());
    expect(fault).toBeNull();
    expect(chunks[0]).toMatchObject({ choices: [{ delta: { role: 'assistant', content: 'a' } }] });
    expect(chunks.slice(0, -1).every((one) => !('usage' in one))).toBe(true);
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'stop', delta: { content: 'c' } }],
      usage: { completion_tokens: 3 },
    });
  });

  it('counts itself where the upstream does not', async () => {
    upstream.queue({
      chunks: [
        chunk({ role: 'assistant', content: 'one two' }),
        chunk({ content: ' three' }),
        chunk({}, { finish_reason: 'length' }),
        DONE_EVENT,
      ],
    });
    const { chunks } = await read(ask());
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 3 },
    });
  });

  it.each([false, true])(
    'carries any text, and charges it where its upstream does not count (include_usage %s)',
    async (include_usage) => {
      const texts = ['one', ' two', ' "three"\n', ' \\ four,"usage":null', '', ' fünf 😀', ' six', ' seven'];
      const odd = (content: string) => chunk({ content, refusal: null }, { usage: null });
      upstream.queue({
        chunks: [
          ...texts.map((content, at) =>
            at === 5
              ? odd(content)
              : chunk(at === 0 ? { role: 'assistant', content } : { content }, { usage: null }),
          ),
          chunk({}, { finish_reason: 'stop' }),
          DONE_EVENT,
        ],
      });
      const { chunks, fault } = await read(ask({ stream_options: { include_usage } }));
      expect(fault).toBeNull();
      const content = chunks.map((one) => one.choices[0]?.delta.content ?? '').join('');
      expect(content).toBe(texts.join(''));
      expect(chunks.slice(0, -1).every((one) => one.model === 'acme/alone' && one.usage == null)).toBe(true);
      const completion_tokens = engine.tokenizer.count(texts.join(''));
      expect(chunks.at(-1)).toMatchObject({ usage: { completion_tokens } });
    },
  );

  it('fails where a chunk of text is broken JSON, however it looks', async () => {
    const good = chunk({ content: ' two' });
    const broken = good.replace(' two', ' t\\wo');
    upstream.queue({ chunks: [chunk({ role: 'assistant', content: 'one' }), good, good, broken] });
    const { chunks, fault } = await read(ask());
    expect(fault).toMatchObject({ code: 'server_error' });
    expect(chunks).toHaveLength(3);
  });

  it('finishes an answer whose upstream says [DONE] without a reason', async () => {
    upstream.queue({ chunks: [chunk({ role: 'assistant', content: 'one' }), DONE_EVENT] });
    const { chunks, fault } = await read(ask());
    expect(fault).toBeNull();
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'stop' }],
      usage: { completion_tokens: 1 },
    });
  });

  const words = ['one', ' two', ' three'];
  const end = chunk({}, { finish_reason: 'stop' });
  const spoken = (more: Record<string, unknown>) =>
    words.map((content, at) => chunk(at === 0 ? { role: 'assistant', content } : { content }, more));
  const bare = (choice: object) => event({ choices: [choice] });

  it.each<[string, string[]]>([
    ['an empty reason in each', [...spoken({ finish_reason: '' }), end]],
    ['the word null as reason in each', [...spoken({ finish_reason: 'null' }), end]],
    ['a reason in each', spoken({ finish_reason: 'stop' })],
    ['a reason before its last words', [...spoken({}).slice(0, 2), end, ...spoken({}).slice(2)]],
    ['two reasons', [...spoken({}), end, chunk({}, { finish_reason: 'length' })]],
    [
      'signs of life and asides between them',
      [event({ type: 'ping' }), ...spoken({}), usageChunk(0, 0), end],
    ],
    [
      'neither delta nor index at its end',
      [...spoken({}), bare({ delta: null }), bare({ finish_reason: 'stop' })],
    ],
    ['other ids and times', [...spoken({}), chunk({}, { id: 'x', created: 7, finish_reason: 'stop' })]],
    [
      'a filter’s opinion first',
      [event({ id: '', created: 0, choices: [], prompt_filter_results: [] }), ...spoken({}), end],
    ],
    ['lines of pretty JSON', spoken({}).map((one) => one.replace('{', '{\ndata: '))],
    ['a byte order mark', [`\ufeff${spoken({})[0]}`, ...spoken({}).slice(1), end]],
  ])('reaches its reader whole from an upstream with %s', async (_name, chunks) => {
    upstream.queue({ chunks: [...chunks, DONE_EVENT] });
    const streamed = await engine.chat.stream(await org.call(), ask());
    const texts: string[] = [];
    for await (const text of streamed.chunks) texts.push(text);
    expect(texts.every((text) => !text.includes('\n'))).toBe(true);
    const read = texts.map((text) => JSON.parse(text) as ChunkShape);
    expect(read.map((one) => one.choices[0]?.delta.content ?? '').join('')).toBe(words.join(''));
    for (const one of read)
      expect(one).toMatchObject({
        id: 'chatcmpl-up1',
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        choices: [{ index: 0, delta: {} }],
      });
    expect(read.map((one) => one.choices[0]?.finish_reason)).toEqual([
      ...read.slice(1).map(() => null),
      'stop',
    ]);
    expect(read[0]?.choices[0]?.delta.role).toBe('assistant');
    expect(read.at(-1)?.usage).toMatchObject({ completion_tokens: 3 });
  });

  it('is charged by what its upstream told, wherever, and by its own count where that told of a beginning only', async () => {
    const told = (prompt: number, completion: number) => ({
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
    });
    upstream.queue(
      { chunks: [...spoken({}), end, event({ usage: told(20, 7) }), DONE_EVENT] },
      { chunks: [event({ usage: told(20, 0) }), ...spoken({}), end, DONE_EVENT] },
      { chunks: [...spoken({}), end, event({ choices: [], usage: told(20.5, 3e12) }), DONE_EVENT] },
    );
    const usages = [];
    for (let at = 0; at < 3; at++) usages.push((await read(ask())).chunks.at(-1)?.usage);
    expect(usages[0]).toMatchObject({ prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 });
    expect(usages[1]).toMatchObject({ prompt_tokens: 20, completion_tokens: 3, total_tokens: 23 });
    expect(usages[2]).toMatchObject({ completion_tokens: 3 });
    expect((await charged()).slice(0, 2)).toEqual([
      { state: 'settled', tokens: 27 },
      { state: 'settled', tokens: 23 },
    ]);
  });

  it('counts what was thought, refused and spoken too', async () => {
    const deltas = [{ reasoning: 'one' }, { refusal: ' two' }, { audio: { transcript: ' three' } }];
    upstream.queue({ chunks: [...deltas.map((delta) => chunk(delta)), end, DONE_EVENT] });
    const { chunks } = await read(ask());
    expect(chunks.at(-1)?.usage).toMatchObject({ completion_tokens: 3 });
  });

  it('says content that comes in parts as text, and thoughts beside it', async () => {
    const thinking = [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }];
    const text = [{ type: 'text', text: 'one' }];
    upstream.queue({ chunks: [chunk({ content: thinking }), chunk({ content: text }), end, DONE_EVENT] });
    const { chunks } = await read(ask());
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '', reasoning_content: 'hm' });
    expect(chunks[1]?.choices[0]?.delta).toEqual({ content: 'one' });
  });

  it('is read from an upstream that compresses unasked', async () => {
    const whole = Buffer.from([...spoken({}), end, DONE_EVENT].join(''));
    upstream.queue(
      { chunks: [gzipSync(whole)], headers: { 'content-encoding': 'gzip' } },
      { chunks: [brotliCompressSync(whole)], headers: { 'content-encoding': 'br' } },
    );
    for (let at = 0; at < 2; at++)
      expect((await read(ask())).chunks.at(-1)?.usage).toMatchObject({ completion_tokens: 3 });
    expect(upstream.requests[0]?.headers['accept-encoding']).toBe('identity');
    upstream.queue({ chunks: ['not gzip'], headers: { 'content-encoding': 'gzip' } });
    await expect(engine.chat.stream(await org.call(), ask())).rejects.toMatchObject({ code: 'server_error' });
  });

  const declarations = [undefined, 'gzip', 'x-gzip', 'deflate', 'zstd', 'identity'];
  const packed = [
    { form: 'plain', pack: (bytes: Buffer) => bytes, declared: declarations },
    { form: 'gzip', pack: gzipSync, declared: declarations },
    { form: 'zlib', pack: deflateSync, declared: declarations },
    { form: 'zstd', pack: zstdCompressSync, declared: declarations },
    // They have no signature.
    { form: 'raw deflate', pack: deflateRawSync, declared: ['deflate'] },
    { form: 'brotli', pack: brotliCompressSync, declared: ['br'] },
  ].flatMap(({ form, pack, declared }) => declared.map((name) => ({ form, pack, name })));
  it.each(packed)('is read from an upstream that sends $form and declares $name', async ({ pack, name }) => {
    const events = pack(Buffer.from([...spoken({}), end, DONE_EVENT].join('')));
    const whole = pack(Buffer.from(JSON.stringify(completion('Hello'))));
    const headers: Record<string, string> = name === undefined ? {} : { 'content-encoding': name };
    const bytes = Array.from(events.subarray(0, 6), (byte) => Buffer.from([byte]));
    upstream.queue(
      { chunks: [events], headers },
      { chunks: [...bytes, events.subarray(6)], chunkMs: 2, headers },
      { body: whole, headers: { ...headers, 'content-type': 'application/json' } },
    );
    for (let at = 0; at < 2; at++)
      expect((await read(ask())).chunks.at(-1)?.usage).toMatchObject({ completion_tokens: 3 });
    const { chunks } = await read(ask());
    expect(chunks).toMatchObject([{ choices: [{ delta: { content: 'Hello' } }] }]);
  });

  it.each([gzipSync, deflateSync, zstdCompressSync])('fails where what came is cut: %o', async (pack) => {
    const events = pack(Buffer.from([...spoken({}), end, DONE_EVENT].join('')));
    for (const length of [3, 12, events.length >> 1]) {
      upstream.queue({ chunks: [events.subarray(0, length)] });
      await expect(read(ask())).rejects.toMatchObject({ code: 'server_error' });
    }
  });

  it('is one chunk where its upstream does not stream, and fails where that answers an error', async () => {
    const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const choice = {
      index: 0,
      message: { role: 'assistant', content: null, tool_calls },
      finish_reason: 'tool_calls',
    };
    upstream.queue({ body: completion('', { choices: [choice] }) });
    const { chunks } = await read(ask());
    expect(chunks).toHaveLength(1);
    expect(chunks[0]).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [
        { delta: { role: 'assistant', tool_calls: [{ index: 0, id: 'c1' }] }, finish_reason: 'tool_calls' },
      ],
      usage: { total_tokens: 15 },
    });
    upstream.queue({ body: { error: { message: 'overloaded' } } });
    await expect(engine.chat.stream(await org.call(), ask())).rejects.toMatchObject({ code: 'server_error' });
  });

  it.each(['\ufeff', '\n\r\n \t', '\ufeff\n'])(
    'is read where an answer in one piece begins with %j',
    async (head) => {
      const bytes = Buffer.from(head + JSON.stringify(completion('Hello')));
      const pieces = [bytes.subarray(0, 1), bytes.subarray(1, 2), bytes.subarray(2)];
      const headers = { 'content-type': 'application/json' };
      upstream.queue({ body: bytes }, { chunks: pieces, chunkMs: 5, headers });
      for (let at = 0; at < 2; at++) {
        const { chunks } = await read(ask());
        expect(chunks).toMatchObject([{ choices: [{ delta: { content: 'Hello' }, finish_reason: 'stop' }] }]);
      }
    },
  );

  it('goes to the fallback where an upstream ends before it said anything', async () => {
    upstream.queue({ chunks: [event({ choices: [] }), event({ error: { message: 'overloaded' } })] });
    const { chunks } = await read(ask({ model: 'acme/chat-1' }));
    expect(chunks.at(-1)).toMatchObject({ model: 'spare/chat-1' });
  });

  it('tries again and falls back until the first chunk', async () => {
    upstream.queue({ status: 500 }, { chunks: [event({ error: { message: 'overloaded' } })] });
    const { chunks } = await read(ask({ model: 'acme/chat-1' }));
    expect(chunks.at(-1)).toMatchObject({ model: 'spare/chat-1', model_tier: 'standard' });
    expect(await charged()).toEqual([{ state: 'settled', tokens: 30 }]);
  });

  it('is refused in an upstream’s words; one long word that a caller made it say holds nobody up', async () => {
    for (let times = 0; times < 4; times++) {
      upstream.queue({ status: 400, body: { error: { message: 'm'.repeat(5000) } } });
      const refused = engine.chat.stream(await org.call(), ask({ stream: true }));
      await expect(refused).rejects.toMatchObject({ status: 400, message: `${'m'.repeat(299)}…` });
    }
  });

  it.each<[string, string[], 'end' | 'reset' | 'hang']>([
    ['a reset', [], 'reset'],
    ['an end without a finish', [], 'end'],
    ['silence', [], 'hang'],
    ['an error event', [event({ error: { message: 'boom' } })], 'hang'],
    ['broken JSON', [event('{"choices":')], 'hang'],
  ])('that breaks off with %s is charged for prompt and delivery, and fails', async (_name, tail, then) => {
    upstream.queue({
      chunks: [chunk({ role: 'assistant', content: 'one' }), chunk({ content: ' two' }), ...tail],
      then,
    });
    const { chunks, fault } = await read(ask());
    expect(chunks).toHaveLength(2);
    expect(fault).toMatchObject({ code: 'server_error', message: 'Generation failed' });
    const [row] = await charged();
    expect(row?.state).toBe('settled');
    const estimate = await engine.chat.estimate(await org.call(), ask({ max_tokens: 2 }));
    expect(row?.tokens).toBe((estimate.amounts.chat_tokens ?? 0) / 100);
  });

  it('cuts the upstream off when its reader leaves', async () => {
    upstream.queue({
      chunks: Array.from({ length: 1000 }, (_, at) =>
        chunk(at === 0 ? { role: 'assistant', content: 'x' } : { content: ' x' }),
      ),
      chunkMs: 5,
    });
    const { chunks } = await engine.chat.stream(await org.call(), ask());
    let seen = 0;
    for await (const _ of chunks) if (++seen === 10) break;
    await upstream.requests[0]?.hungUp;
    const estimate = await engine.chat.estimate(await org.call(), ask({ max_tokens: 10 }));
    expect(await charged()).toEqual([
      { state: 'settled', tokens: (estimate.amounts.chat_tokens ?? 0) / 100 },
    ]);
  });

  it('holds the upstream back while its reader takes nothing', async () => {
    const big = chunk({ content: 'y'.repeat(16_000) });
    let sent = 0;
    const pieces = Array.from({ length: 4000 }, () => big);
    upstream.queue({
      chunks: new Proxy(pieces, {
        get: (target, key) => {
          if (typeof key === 'string' && /^\d+$/.test(key)) sent = Number(key);
          return Reflect.get(target, key) as unknown;
        },
      }),
    });
    const { chunks } = await engine.chat.stream(await org.call(), ask());
    const reader = chunks[Symbol.asyncIterator]();
    await reader.next();
    await new Promise((resume) => setTimeout(resume, 300));
    expect(sent).toBeLessThan(2000);
    await reader.return?.();
  });
});

describe('an upstream’s address', () => {
  it('may have a query, which every request then has, and is called by name', async () => {
    const timeouts = { connectMs: 1000, firstByteMs: 1000, chunkMs: 1000 };
    const baseUrl = `${upstream.baseUrl}/?api-version=2`;
    const transport = new Transport({ baseUrl, headers: {}, timeouts, secrets: [] });
    await transport.postForBytes('/chat/completions', '{}', { signal: undefined });
    await transport.close();
    expect(upstream.requests[0]).toMatchObject({
      path: '/v1/chat/completions?api-version=2',
      headers: { 'user-agent': 'Penstock' },
    });
  });
});
