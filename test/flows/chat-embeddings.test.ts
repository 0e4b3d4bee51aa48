import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeChat, createUpstreamEngine, refuseChat, streamChat, user } from '../support/chat.js';
import type { ChatEngine, ChatOrg } from '../support/chat.js';
import { chunk, completion, DONE_EVENT } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';

let engine: ChatEngine;
let upstream: FakeUpstream;
let other: FakeUpstream;
let close: () => Promise<void>;
let org: ChatOrg;
beforeAll(async () => {
  ({ engine, upstream, other, close } = await createUpstreamEngine());
  org = await engine.createOrg();
});
afterAll(() => close());

const ask = (more: object = {}) => user('Hi', { model: 'acme/alone', ...more });

describe('embeddings', () => {
  const create = async (body: Record<string, unknown>) =>
    (await engine.embeddings.create(await org.call(), body)) as {
      data: { embedding: number[] | string }[];
      usage: Record<string, number>;
    };

  it('rank related texts above unrelated ones', async () => {
    const { data, usage } = await create({
      input: [
        'How do I water my garden plants?',
        'Watering plants in the garden',
        'Quarterly revenue of the bank',
      ],
    });
    const [question, related, unrelated] = data.map((item) => item.embedding as number[]);
    const dot = (a: number[] = [], b: number[] = []): number =>
      a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
    expect(dot(question, related)).toBeGreaterThan(dot(question, unrelated) + 0.2);
    expect(dot(question, question)).toBeCloseTo(1, 5);
    expect(usage).toMatchObject({ credits_used: 1 });
    expect(usage['total_tokens']).toBeGreaterThan(10);
  });

  it('come as base64 of little-endian float32, in the dimensions asked for', async () => {
    const floats = await create({ input: 'x y z', dimensions: 64 });
    const coded = await create({ input: 'x y z', dimensions: 64, encoding_format: 'base64' });
    const bytes = Buffer.from(coded.data[0]?.embedding as string, 'base64');
    expect(bytes.length).toBe(256);
    expect(bytes.readFloatLE(8)).toBeCloseTo(
      (floats.data as { embedding: number[] }[])[0]?.embedding[2] ?? 9,
      6,
    );
  });

  it.each([
    [{}, 'input is required'],
    [{ input: [] }, 'input must be a string or an array of 1 to 2048 strings'],
    [{ input: '' }, 'input must not be empty'],
    [{ input: 'x', dimensions: 0 }, 'dimensions must be a whole number between 1 and 4096'],
    [{ input: 'x', model: 'sandbox/chat-basic' }, 'Unknown model: sandbox/chat-basic'],
  ])('refuse %j', async (body, message) => {
    await expect(create(body)).rejects.toMatchObject({ code: 'invalid_request', message });
  });

  it('run out with the message of chat', async () => {
    const free = await engine.createOrg('free');
    await engine.metering.setUsed(free.orgId, 'credits', 10_000);
    await expect(engine.embeddings.create(await free.call(), { input: 'x' })).rejects.toMatchObject({
      status: 402,
      message: 'Quota exceeded for chat_tokens',
    });
  });
});

describe('the convention’s further fields', () => {
  it('reach the models whose entry allows them, are counted, and are ignored elsewhere whatever they hold', async () => {
    const given = {
      top_k: 40,
      service_tier: 'flex',
      store: true,
      documents: ['word '.repeat(200)],
      api_base: 'x',
    };
    await completeChat(engine, org, ask(given));
    expect(upstream.requests.at(-1)?.body).toEqual({
      model: 'alone',
      messages: [{ role: 'user', content: 'Hi' }],
      max_completion_tokens: 2048,
      top_k: 40,
      service_tier: 'flex',
      documents: given.documents,
    });
    upstream.queue({ status: 404 });
    other.requests.length = 0;
    await completeChat(engine, org, ask({ ...given, model: 'acme/chat-1' }));
    expect(upstream.requests[1]?.body).toMatchObject({ top_k: 40, service_tier: 'flex' });
    expect(upstream.requests[1]?.body).not.toHaveProperty('documents');
    expect(other.requests[0]?.body).not.toHaveProperty('top_k');
    const price = async (body: Record<string, unknown>) =>
      (await engine.chat.estimate(await org.call(), body)).amounts.chat_tokens ?? 0;
    expect((await price(ask(given))) - (await price(ask()))).toBeGreaterThan(200 * 100);
    await completeChat(engine, org, ask({ metadata: 'x', store: 1, modalities: {}, top_k: 'x' }));
    expect(upstream.requests.at(-1)?.body).toMatchObject({ top_k: 'x' });
    expect(upstream.requests.at(-1)?.body).not.toHaveProperty('store');
  });

  it('pass older functions on, and the call that answers them back', async () => {
    const call = { name: 'weather', arguments: '{"city":"Oslo"}' };
    const given = {
      functions: [{ name: 'weather', parameters: { type: 'object' } }],
      function_call: { name: 'weather' },
    };
    const message = { role: 'assistant', content: null, function_call: call };
    const { usage: _, ...untold } = completion('');
    upstream.queue({ body: { ...untold, choices: [{ index: 0, message, finish_reason: 'function_call' }] } });
    const answer = await completeChat(engine, org, ask(given));
    expect(upstream.requests.at(-1)?.body).toMatchObject(given);
    expect(answer.choices[0]).toMatchObject({ message, finish_reason: 'tool_calls' });
    expect(answer.usage['completion_tokens']).toBeGreaterThan(5);
    upstream.queue({ chunks: [chunk({ role: 'assistant', function_call: call }), DONE_EVENT, ''] });
    const { chunks } = await streamChat(engine, org, ask(given));
    expect(chunks[0]?.choices[0]?.delta.function_call).toEqual(call);
    const both = ask({ ...given, tools: [{ type: 'function', function: { name: 'x' } }] });
    expect(await refuseChat(engine, org, both)).toMatchObject({
      status: 400,
      details: { param: 'functions' },
    });
  });
});

describe('a web search', () => {
  const hits = { results: [{ title: 'A hit', url: 'https://example.com/1', content: 'Snow' }] };

  it('without a question asks nobody, and the model is told so', async () => {
    const before = upstream.requests.length;
    const picture = 'https://example.com/a.png';
    const messages = [{ role: 'user', content: ' \n', images: [picture] }];
    const answer = await completeChat(engine, org, { model: 'acme/alone', messages, web_search: true });
    expect(upstream.requests.slice(before).map(({ path }) => path)).toEqual(['/v1/chat/completions']);
    expect(upstream.requests.at(-1)?.body['messages']).toMatchObject([
      { role: 'system', content: 'Web search results: there was no question to search for.' },
      { role: 'user' },
    ]);
    expect(answer).not.toHaveProperty('citations');
  });

  it('goes on without its caller where it has an Idempotency-Key, and is given up with its caller else', async () => {
    for (const idempotencyKey of ['idem_1', null]) {
      const own = await engine.createOrg();
      const leaving = new AbortController();
      upstream.queue(() => {
        leaving.abort();
        return { body: hits, delayMs: 30 };
      });
      const call = await own.call({ idempotencyKey, signal: leaving.signal });
      const outcome = engine.chat.complete(call, ask({ web_search: true }));
      if (idempotencyKey === null) await expect(outcome).rejects.toMatchObject({ code: 'server_error' });
      else expect((await outcome).text).toContain('https://example.com/1');
      const charged = await own.ledger();
      expect(charged.map(({ state }) => state)).toEqual(idempotencyKey === null ? [] : ['settled']);
    }
  });
});
