import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.js';
import { completeChat, createChatEngine, streamChat, user, WIDE_WINDOWS } from '../support/chat.js';
import type { ChatEngine, ChatOrg, ChunkShape } from '../support/chat.js';

let engine: ChatEngine;
let org: ChatOrg;
beforeAll(async () => {
  engine = await createChatEngine({ plans: WIDE_WINDOWS });
  org = await engine.createOrg();
});
afterAll(() => engine.close());

const complete = (body: Record<string, unknown>, from: ChatOrg = org) => completeChat(engine, from, body);
const stream = async (body: Record<string, unknown>) => (await streamChat(engine, org, body)).chunks;

const textOf = (chunks: ChunkShape[]): string =>
  chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');

describe('a sandbox chat', () => {
  it('answers in the shape of the contract and says what it is', async () => {
    const answer = await complete(user('Hello there'));
    expect(answer).toMatchObject({
      object: 'chat.completion',
      model: 'sandbox/chat-basic',
      model_tier: 'basic',
      choices: [{ index: 0, message: { role: 'assistant' }, finish_reason: 'stop' }],
    });
    expect(answer.choices[0]?.message.content).toMatch(/sandbox/i);
    expect(answer.choices[0]?.message.content).toContain('Hello there');
    const { usage } = answer;
    expect(usage['total_tokens']).toBe((usage['prompt_tokens'] ?? 0) + (usage['completion_tokens'] ?? 0));
    expect(usage['completion_tokens']).toBe(engine.tokenizer.count(answer.choices[0]?.message.content ?? ''));
    expect(usage).toMatchObject({ credits_used: 1, credits_breakdown: { base: 1 } });
    const balances = await engine.metering.balances(org.orgId);
    expect(usage['tokens_remaining_estimate']).toBe(balances.credits.remaining * 1000);
  });

  it('gives the same answer for the same input and seed, another for another seed', async () => {
    const ask = async (seed?: number) =>
      (await complete(user('Tell me of rivers', seed === undefined ? {} : { seed }))).choices[0]?.message
        .content;
    expect(await ask()).toBe(await ask());
    expect(await ask(7)).toBe(await ask(7));
    expect(await ask(7)).not.toBe(await ask(8));
  });

  it('makes exactly the tokens that its directive asks for, up to max_tokens', async () => {
    const whole = await complete(user('Go @sandbox{"tokens":200} on'));
    expect(whole.usage['completion_tokens']).toBe(200);
    expect(engine.tokenizer.count(whole.choices[0]?.message.content ?? '')).toBe(200);
    expect(whole.choices[0]?.finish_reason).toBe('stop');
    const cut = await complete(
      user('Go @sandbox{"tokens":200} on', { max_tokens: 50, max_completion_tokens: 30 }),
    );
    expect(cut.usage['completion_tokens']).toBe(30);
    expect(cut.choices[0]?.finish_reason).toBe('length');
  });

  it('takes a broken directive for text', async () => {
    const answer = await complete(user('Look: @sandbox{"tokens": oops}'));
    expect(answer.choices[0]?.message.content).toContain('@sandbox{"tokens": oops}');
  });

  it('stops at a stop sequence, which is not part of the answer', async () => {
    const answer = await complete(user('Hi @sandbox{"tokens":300}', { stop: ['no language'] }));
    expect(answer.choices[0]?.message.content?.endsWith('; ')).toBe(true);
    expect(answer.choices[0]?.finish_reason).toBe('stop');
  });

  it('calls the tool that the directive names, and answers in text once the tool has answered', async () => {
    const directive = '@sandbox{"tool_call":{"name":"weather","arguments":{"city":"Oslo"}}}';
    const called = await complete(user(`Weather? ${directive}`));
    expect(called.choices[0]?.finish_reason).toBe('tool_calls');
    expect(called.choices[0]?.message.content).toBeNull();
    const call = called.choices[0]?.message.tool_calls?.[0];
    expect(call?.function).toEqual({ name: 'weather', arguments: '{"city":"Oslo"}' });
    const after = await complete({
      messages: [
        { role: 'user', content: `Weather? ${directive}` },
        { role: 'assistant', content: null, tool_calls: called.choices[0]?.message.tool_calls },
        { role: 'tool', tool_call_id: call?.id, content: 'rain, 7 degrees' },
      ],
    });
    expect(after.choices[0]?.finish_reason).toBe('stop');
    expect(after.choices[0]?.message.content).toContain('rain, 7 degrees');
  });

  it('quotes what a tool answered, whatever the tool is called', async () => {
    const call = { id: 'c', type: 'function', function: { name: 'constructor', arguments: '{}' } };
    const { choices } = await complete({
      messages: [
        { role: 'user', content: 'Weather?' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: 'see https://weather.example/oslo' },
      ],
    });
    expect(choices[0]?.message.content).toContain('answered: "see https://weather.example/oslo"');
  });

  it('calls the directive’s tool only as tools and tool_choice allow it, whole and streamed', async () => {
    const directive = '@sandbox{"tool_call":{"name":"f","arguments":{"a":1}}}';
    const tools = (...names: string[]) => names.map((name) => ({ type: 'function', function: { name } }));
    const choose = (name: string) => ({ type: 'function', function: { name } });
    const called = async (more: object) => {
      const whole = (await complete(user(directive, more))).choices[0]?.message.tool_calls?.[0]?.function;
      const parts = (await stream(user(directive, more))).flatMap(
        (chunk) => chunk.choices[0]?.delta.tool_calls ?? [],
      );
      const streamed = parts.map(({ function: { name = '', arguments: text } }) => name + text).join('');
      expect(streamed).toBe(whole === undefined ? '' : whole.name + whole.arguments);
      return streamed;
    };
    expect(await called({ tools: tools('f', 'g') })).toBe('f{"a":1}');
    expect(await called({ tools: tools('f', 'g'), tool_choice: choose('f') })).toBe('f{"a":1}');
    expect(await called({ tools: tools('f', 'g'), tool_choice: choose('g') })).toBe('g{}');
    expect(await called({ tools: tools('f', 'g'), tool_choice: 'none' })).toBe('');
    expect(await called({ tool_choice: 'none' })).toBe('');
    expect(await called({ tools: tools('g') })).toBe('');
    expect(await called({ tools: tools('g'), tool_choice: 'required' })).toBe('g{}');
    expect(await called({ functions: [{ name: 'g' }] })).toBe('');
    // A rehearsal without tools.
    expect(await called({})).toBe('f{"a":1}');
  });

  it('calls a tool with fitting arguments where tool_choice demands it', async () => {
    const parameters = {
      type: 'object',
      properties: { unit: { enum: ['c', 'f'] }, days: { type: 'integer', minimum: 3, maximum: 5 } },
      required: ['unit', 'days'],
    };
    const tools = [{ type: 'function', function: { name: 'forecast', parameters } }];
    const answer = await complete(user('x', { tools, tool_choice: 'required' }));
    const made = JSON.parse(answer.choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '') as {
      unit: string;
      days: number;
    };
    expect(['c', 'f']).toContain(made.unit);
    expect([3, 4, 5]).toContain(made.days);
  });

  it('answers the older functions with a function call, whole and streamed', async () => {
    const body = user('x', { functions: [{ name: 'forecast' }], function_call: { name: 'forecast' } });
    const whole = await complete(body);
    expect(whole.choices[0]).toMatchObject({
      message: { content: null, function_call: { name: 'forecast', arguments: '{}' } },
      finish_reason: 'tool_calls',
    });
    expect(whole.choices[0]?.message).not.toHaveProperty('tool_calls');
    const calls = (await stream(body)).flatMap((chunk) => chunk.choices[0]?.delta.function_call ?? []);
    expect(calls.map(({ name = '', arguments: text }) => name + text).join('')).toBe('forecast{}');
    const history = [
      ...(body['messages'] as object[]),
      whole.choices[0]?.message,
      { role: 'user', content: 'y' },
    ];
    expect((await complete({ messages: history })).choices[0]?.finish_reason).toBe('stop');
  });

  it('answers response_format with JSON that fits', async () => {
    const object = await complete(user('x', { response_format: { type: 'json_object' } }));
    expect(JSON.parse(object.choices[0]?.message.content ?? '')).toMatchObject({ sandbox: true });
    const schema = {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'tags', 'node', 'when', 'code'],
      properties: {
        name: { type: 'string', minLength: 12, maxLength: 14 },
        tags: { type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 },
        node: { $ref: '#/$defs/node' },
        when: { type: 'string', format: 'date-time' },
        code: { type: 'string', pattern: '^[A-Z]{3}-\\d{4}$' },
        ratio: { type: ['number', 'null'], exclusiveMinimum: 0, maximum: 1 },
      },
      $defs: {
        node: {
          type: 'object',
          properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
          required: ['next'],
        },
      },
    };
    const fitted = await complete(
      user('x', { response_format: { type: 'json_schema', json_schema: { name: 's', schema } } }),
    );
    const made = JSON.parse(fitted.choices[0]?.message.content ?? '') as {
      name: string;
      tags: string[];
      when: string;
      code: string;
      ratio: number;
    };
    expect(made.name.length).toBeGreaterThanOrEqual(12);
    expect(made.name.length).toBeLessThanOrEqual(14);
    expect(made.tags.length).toBeGreaterThanOrEqual(2);
    expect(made.code).toMatch(/^[A-Z]{3}-\d{4}$/);
    expect(Number.isNaN(Date.parse(made.when))).toBe(false);
    expect(made.ratio).toBeGreaterThan(0);
    expect(made.ratio).toBeLessThanOrEqual(1);
  });

  it('tells how many images it saw, given either way, and counts their tokens', async () => {
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const plain = await complete(user('What is this?'));
    const seen = await complete({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
          ],
          images: [png, 'https://example.com/a.png'],
        },
      ],
    });
    expect(seen.choices[0]?.message.content).toContain('I see 3 images');
    expect(seen.usage['prompt_tokens']).toBe((plain.usage['prompt_tokens'] ?? 0) + 3000);
  });

  it('gives logprobs where they are asked for', async () => {
    const answer = await complete(user('x', { logprobs: true, top_logprobs: 2 }));
    const content = answer.choices[0]?.logprobs?.content ?? [];
    expect(content.map((entry) => entry.token).join('')).toBe(answer.choices[0]?.message.content);
    expect(content[0]?.top_logprobs).toHaveLength(2);
  });

  it('says that nothing was searched where no search provider is configured', async () => {
    const answer = await complete(user('Any news?', { web_search: true }));
    expect(answer.choices[0]?.message.content).toContain('web search is not configured');
    expect(answer.choices[0]?.message.content).toContain('[1]');
  });
});

describe('a sandbox stream', () => {
  it('has the chunks of the convention, one token each, and the usage on the last', async () => {
    const body = user('Hi @sandbox{"tokens":40}');
    const whole = await complete(body);
    const chunks = await stream({ ...body, stream: true });
    expect(textOf(chunks)).toBe(whole.choices[0]?.message.content);
    expect(chunks[0]).toMatchObject({
      object: 'chat.completion.chunk',
      model: 'sandbox/chat-basic',
      choices: [{ delta: { role: 'assistant' } }],
    });
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(chunks).toHaveLength(42);
    const last = chunks.at(-1);
    expect(last).toMatchObject({ model_tier: 'basic', choices: [{ finish_reason: 'stop' }] });
    expect(last?.usage).toMatchObject({
      completion_tokens: 40,
      credits_used: 1,
      credits_breakdown: { base: 1 },
    });
    expect(chunks.slice(0, -1).every((chunk) => !('usage' in chunk))).toBe(true);
  });

  it('sends the usage in a chunk of its own where include_usage is set, and in no other', async () => {
    const chunks = await stream(user('Hi @sandbox{"tokens":5}', { stream_options: { include_usage: true } }));
    const last = chunks.at(-1);
    expect(last).toMatchObject({ choices: [], usage: { completion_tokens: 5 } });
    expect(chunks.at(-2)).toMatchObject({ model_tier: 'basic', choices: [{ finish_reason: 'stop' }] });
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage == null)).toBe(true);
  });

  it('streams a tool call', async () => {
    const chunks = await stream(user('@sandbox{"tool_call":{"name":"x","arguments":{"a":[1,2,3]}}}'));
    const calls = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    expect(calls[0]?.function.name).toBe('x');
    expect(calls.map((call) => call.function.arguments).join('')).toBe('{"a":[1,2,3]}');
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });

  it('is charged for the prompt and what was delivered when it fails on the way', async () => {
    const own = await engine.createOrg();
    const { chunks } = await engine.chat.stream(
      await own.call(),
      user('@sandbox{"tokens":50,"fail":"boom","fail_after_tokens":10}'),
    );
    const seen: string[] = [];
    const fault = await (async () => {
      for await (const chunk of chunks) seen.push(chunk);
    })().catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'server_error', message: 'Generation failed' });
    expect(seen).toHaveLength(11);
    const [row] = await own.ledger();
    expect(row?.state).toBe('settled');
    const prompt = (row?.amounts.chat_tokens ?? 0) / 100 - 10;
    expect(prompt).toBeGreaterThan(7);
    expect(prompt).toBeLessThan(60);
  });

  it('is charged for the prompt and what was delivered when its reader leaves', async () => {
    const own = await engine.createOrg();
    const gone = new AbortController();
    const call = await own.call({ signal: gone.signal });
    const { chunks } = await engine.chat.stream(call, user('@sandbox{"tokens":500,"chunk_ms":5}'));
    const reader = chunks[Symbol.asyncIterator]();
    for (let taken = 0; taken < 21; taken++) await reader.next();
    gone.abort();
    await expect(reader.next()).rejects.toBeInstanceOf(ApiError);
    const [row] = await own.ledger();
    expect(row?.state).toBe('settled');
    expect(row?.amounts.credits).toBe(100);
    const tokens = (row?.amounts.chat_tokens ?? 0) / 100;
    const prompt = (
      await engine.chat.estimate(
        await own.call(),
        user('@sandbox{"tokens":500,"chunk_ms":5}', { max_tokens: 1 }),
      )
    ).amounts.chat_tokens;
    expect(tokens).toBe((prompt ?? 0) / 100 - 1 + 20);
  });

  it('goes on without its reader where it has an idempotency key', async () => {
    const own = await engine.createOrg();
    const gone = new AbortController();
    const call = await own.call({ signal: gone.signal, idempotencyKey: 'idem_1' });
    const { chunks } = await engine.chat.stream(call, user('@sandbox{"tokens":30,"chunk_ms":1}'));
    gone.abort();
    let count = 0;
    for await (const _ of chunks) count++;
    expect(count).toBe(32);
  });
});
