import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { type APIError } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chunk, completion, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let upstream: FakeUpstream;
let key: string;
let client: OpenAI;
let anthropic: Anthropic;

const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${server.origin}/v1`, maxRetries: 0 });

beforeAll(async () => {
  upstream = await startFakeUpstream();
  server = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: upstream.baseUrl,
          apiKey: 'k',
          retry: { retries: 0 },
          models: [
            { id: 'acme/chat', type: 'chat', tier: 'basic', upstreamId: 'm' },
            { id: 'acme/small', type: 'chat', tier: 'basic', upstreamId: 's', maxOutputTokens: 777 },
            { id: 'acme/dense', type: 'embedding', tier: 'basic', upstreamId: 'e' },
          ],
        },
      ],
      aliases: { 'gpt-4o-mini': 'acme/chat', 'o1-*': 'acme/chat' },
    },
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  client = clientOf(key);
  anthropic = new Anthropic({ apiKey: key, baseURL: server.origin, maxRetries: 0 });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
});

const faultOf = async (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );
const messages = [{ role: 'user' as const, content: 'Hello. @sandbox{"tokens":8}' }];

describe('chat with the official client', () => {
  it('takes what newer clients send, and sends upstream what all upstreams know', async () => {
    upstream.queue({ body: completion('Hi') });
    const answer = await client.chat.completions.create({
      model: 'gpt-4o-mini',
      messages: [{ role: 'developer', content: 'Be brief' }, ...messages],
      store: true,
      metadata: { a: 'b' },
      service_tier: 'auto',
      safety_identifier: 's',
      prompt_cache_key: 'p',
      temperature: null,
      tools: null as never,
    });
    expect(answer.choices[0]?.message.content).toBe('Hi');
    expect(answer.model).toBe('acme/chat');
    expect(upstream.requests[0]?.body).toMatchObject({
      messages: [{ role: 'system', content: 'Be brief' }, { role: 'user' }],
    });
  });

  it('refuses what the convention knows and the model cannot do', async () => {
    for (const [param, value] of [
      ['modalities', ['text', 'audio']],
      ['audio', { voice: 'alloy', format: 'wav' }],
      ['web_search_options', {}],
    ] as const) {
      const asked = client.chat.completions.create({ model: 'acme/chat', messages, [param]: value });
      expect(await faultOf(asked)).toMatchObject({ status: 400, param, type: 'invalid_request_error' });
    }
    expect(upstream.requests).toEqual([]);
    upstream.queue({ body: completion('Hi') });
    await client.chat.completions.create({ model: 'acme/chat', messages, modalities: ['text'] });
  });

  it('gives an answer without a cap as much as its model may say', async () => {
    for (const [model, cap] of [
      ['acme/small', 777],
      ['acme/chat', 32_000],
    ] as const) {
      upstream.queue({ body: completion('Hi') });
      await client.chat.completions.create({ model, messages });
      expect(upstream.requests.at(-1)?.body['max_tokens']).toBe(cap);
    }
  });

  it('streams to the end, with usage where it was asked for', async () => {
    const stream = client.chat.completions.stream({
      model: 'chat-basic',
      messages,
      stream_options: { include_usage: true },
    });
    const whole = await stream.finalChatCompletion();
    expect(whole.choices[0]?.message.content).not.toBe('');
    expect(whole.usage?.total_tokens).toBeGreaterThan(0);
  });

  it('throws the fault of a stream that breaks off', async () => {
    upstream.queue({ chunks: [chunk({ role: 'assistant', content: 'Hel' })], then: 'reset' });
    const stream = await client.chat.completions.create({ model: 'acme/chat', messages, stream: true });
    const read = async () => {
      for await (const _ of stream);
    };
    expect(await faultOf(read())).toMatchObject({ error: { type: 'server_error', code: 'server_error' } });
  });
});

describe('embeddings with the official client', () => {
  it('take token ids, which an upstream of the convention gets as they came', async () => {
    const answers = { data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 2, total_tokens: 2 } };
    for (const input of [[9906, 1917], [[9906, 1917]]]) {
      upstream.queue({ body: answers });
      const { data } = await client.embeddings.create({ model: 'acme/dense', input });
      expect(data[0]?.embedding).toEqual([1, 2]);
      expect(upstream.requests.at(-1)?.body['input']).toEqual(input);
    }
  });

  it('are those of the text that the ids stand for elsewhere, at the same price, at both addresses', async () => {
    const model = 'sandbox/embedding-basic';
    const emoji = [9468, 19044, 9906];
    const byText = await client.embeddings.create({ model, input: ['Hello world', '🙂Hello'] });
    const byIds = await client.embeddings.create({ model, input: [[9906, 1917], emoji] });
    expect(byIds.data).toEqual(byText.data);
    const contract = await server.rest<{ data: object[] }>('POST', '/embeddings', {
      key,
      body: { model, input: [9906, 1917] },
    });
    expect(contract.body.data).toHaveLength(1);
  });

  it('name the place of what is no token', async () => {
    const cases: [unknown, string][] = [
      [[[1], []], 'input[1] must not be empty'],
      [[1, 2, 100_261], 'input[2] must be the id of a token of cl100k_base'],
      [[[1], [1.5]], 'input[1][0] must be the id of a token of cl100k_base'],
      [[[1], 'x'], 'input[1] must be an array of tokens, as the others are'],
      [['x', 1], 'input[1] must be a string'],
      [Array.from({ length: 8193 }, () => 1), "input is longer than the model's 8192 tokens"],
      [[], 'input must be a string or an array of 1 to 2048 strings'],
    ];
    for (const [input, message] of cases)
      expect(
        await faultOf(client.embeddings.create({ model: 'sandbox/embedding-basic', input: input as string })),
      ).toMatchObject({ status: 400, param: 'input', error: { message } });
  });
});

describe('models with the official clients', () => {
  const all = async <T>(pages: AsyncIterable<T>): Promise<T[]> => {
    const found: T[] = [];
    for await (const item of pages) found.push(item);
    return found;
  };

  it('are those that the key may call, aliases included', async () => {
    const ids = (await all(client.models.list())).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['acme/chat', 'sandbox/chat-powerful', 'gpt-4o-mini']));
    expect(ids).not.toContain('o1-*');
    const free = await server.createOrg({ plan: 'free' });
    const spoken = await server.createKey(free.orgId, { scopes: ['tts'] });
    const few = (await all(clientOf(spoken.key).models.list())).map(({ id }) => id);
    expect(few).toEqual(['sandbox/tts-fast']);
  });

  it('come one by one, by id, alias and short name; others are not found', async () => {
    expect(await client.models.retrieve('sandbox/chat-basic')).toEqual({
      id: 'sandbox/chat-basic',
      object: 'model',
      created: expect.any(Number),
      owned_by: 'penstock',
    });
    expect((await client.models.retrieve('chat-basic')).id).toBe('sandbox/chat-basic');
    expect((await client.models.retrieve('o1-mini')).id).toBe('acme/chat');
    for (const id of ['no/such', 'openai/gpt-4o']) {
      const fault = await faultOf(client.models.retrieve(id));
      expect(fault).toBeInstanceOf(OpenAI.NotFoundError);
      expect(fault).toMatchObject({ code: 'model_not_found', type: 'invalid_request_error' });
    }
  });

  it('have the form of the other convention for its client, page by page', async () => {
    const ids = (await all(client.models.list())).map(({ id }) => id);
    const paged = await all(anthropic.models.list({ limit: 5 }));
    expect(paged.map(({ id }) => id)).toEqual(ids);
    const page = await anthropic.models.list({ limit: 2, before_id: ids[3] as string });
    expect(page.data.map(({ id }) => id)).toEqual(ids.slice(1, 3));
    expect(page).toMatchObject({ has_more: true, first_id: ids[1], last_id: ids[2] });
    expect(await anthropic.models.retrieve('sandbox/chat-basic')).toMatchObject({
      id: 'sandbox/chat-basic',
      type: 'model',
      max_tokens: 100_000,
    });
    const fault = await faultOf(anthropic.models.retrieve('no/such'));
    expect(fault).toBeInstanceOf(Anthropic.NotFoundError);
    expect(fault).toMatchObject({ error: { type: 'error', error: { type: 'not_found_error' } } });
    expect(await faultOf(anthropic.models.list({ limit: 1001 }))).toMatchObject({ status: 400 });
  });
});

describe('the official client throws by status', () => {
  it('what it has a class for, with type, code and param of the convention', async () => {
    const poor = await server.createOrg({ plan: 'pro_monthly' });
    await server.cli('quota', 'set', '--org', poor.orgId, '--bucket', 'credits', '--used', '200');
    const { key: scoped } = await server.createKey(poor.orgId, { scopes: ['tts'] });
    const free = await server.createOrg({ plan: 'free' });
    const chat = (apiKey: string, body: object = {}) =>
      faultOf(clientOf(apiKey).chat.completions.create({ model: 'chat-basic', messages, ...body }));
    const cases: [unknown, new (...given: never[]) => Error, number, string, string, string | null][] = [
      [await chat('sk_no'), OpenAI.AuthenticationError, 401, 'authentication_error', 'invalid_api_key', null],
      [
        await chat(key, { n: 2 }),
        OpenAI.BadRequestError,
        400,
        'invalid_request_error',
        'invalid_request',
        'n',
      ],
      [
        await chat(key, { model: 'no/such' }),
        OpenAI.BadRequestError,
        400,
        'invalid_request_error',
        'model_not_found',
        'model',
      ],
      [await chat(poor.key), OpenAI.APIError, 402, 'insufficient_quota', 'quota_exceeded', null],
      [await chat(scoped), OpenAI.PermissionDeniedError, 403, 'permission_error', 'forbidden', null],
      [
        await chat(free.key, { model: 'chat-powerful' }),
        OpenAI.PermissionDeniedError,
        403,
        'permission_error',
        'model_tier_not_allowed',
        'model',
      ],
    ];
    for (const [fault, kind, status, type, code, param] of cases) {
      expect(fault).toBeInstanceOf(kind);
      expect(fault).toMatchObject({ status, type, code, param });
    }
    upstream.queue({ status: 500, body: {} });
    const broken = await chat(key, { model: 'acme/chat' });
    expect(broken).toBeInstanceOf(OpenAI.InternalServerError);
    expect(broken).toMatchObject({ status: 500, type: 'server_error', code: 'server_error' });
  });

  it('a full window, with the seconds to wait', async () => {
    const { key: own } = await server.createOrg({ plan: 'free' });
    const asked = Array.from({ length: 31 }, () => faultOf(clientOf(own).models.retrieve('chat-basic')));
    const refused = (await Promise.all(asked)).filter((fault) => fault !== null) as APIError[];
    expect(refused).toHaveLength(1);
    expect(refused[0]).toBeInstanceOf(OpenAI.RateLimitError);
    expect(refused[0]).toMatchObject({ type: 'rate_limit_error', code: 'rate_limited' });
    expect(Number(refused[0]?.headers?.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });
});
