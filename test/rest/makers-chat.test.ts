import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { amazonEvents, converseStream } from '../support/amazon-events.js';
import { CHATS, creditsUsed, startMakers } from '../support/makers.js';
import type { Makers } from '../support/makers.js';
import type { NativeReply, NativeUpstream } from '../support/native-upstream.js';
import type { TestServer } from '../support/server.js';

let makers: Makers;
let penstock: TestServer;
let upstream: NativeUpstream;
let key: string;

beforeAll(async () => {
  makers = await startMakers(
    {
      google: { chat: 'gemini-2.5-flash', replaced: 'gemini-2.5-pro' },
      cohere: { chat: 'command-a-03-2025', replaced: 'command-r7b-12-2024' },
      'amazon-bedrock': {
        chat: 'amazon.nova-lite-v1:0',
        claude: 'anthropic.claude-sonnet-4-20250514-v1:0',
        adaptive: 'anthropic.claude-sonnet-4-6',
        nova2: 'amazon.nova-2-lite-v1:0',
      },
      anthropic: { chat: 'claude-haiku-4-5' },
      mistral: { chat: 'mistral-small-latest' },
    },
    { 'google/replaced': ['mistral/chat'], 'cohere/replaced': ['mistral/chat'] },
  );
  ({ penstock, upstream } = makers);
});
afterAll(() => makers?.close());
beforeEach(async () => {
  upstream.clear();
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});

const CLAUDE = {
  type: 'message',
  id: 'm',
  role: 'assistant',
  model: 'claude-haiku-4-5',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 1 },
};
const messages = [{ role: 'user', content: 'Hi' }];
const ask = (body: object) =>
  penstock.rest('POST', '/chat/completions', { key, body: { messages, ...body } });

/** What comes of a stream: what was said, how it ended, and whether it says that it is whole. */
async function streamed(body: object) {
  const { status, events } = await penstock.events('POST', '/chat/completions', {
    key,
    body: { messages, stream: true, ...body },
  });
  const texts: string[] = [];
  for await (const { data } of events) texts.push(data);
  const chunks = texts.flatMap((text) =>
    text === '[DONE]' ? [] : [JSON.parse(text) as { choices?: unknown; error?: string; model?: string }],
  );
  const choices = chunks.flatMap(
    (chunk) => (chunk.choices ?? []) as { delta: { content?: string }; finish_reason: string | null }[],
  );
  return {
    status,
    said: choices.map(({ delta }) => delta.content ?? '').join(''),
    finishReasons: choices.flatMap((choice) => choice.finish_reason ?? []),
    error: chunks.find((chunk) => chunk.error !== undefined)?.error,
    done: texts.includes('[DONE]'),
    model: chunks[0]?.model,
  };
}

const spent = () => creditsUsed(penstock, key);
const answering = () => CHATS.forEach(([path, reply]) => upstream.on(path, reply));

describe('an answer of Gemini without candidates', () => {
  it.each<[string, object]>([
    ['an error with status 200', { error: { code: 503, status: 'UNAVAILABLE' } }],
    ['an empty object', {}],
    ['a count of tokens alone', { usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 } }],
    ['a candidate that says nothing, not even why', { candidates: [{ content: {} }] }],
  ])('is no answer: it is free, and a fallback answers (%s)', async (_name, body) => {
    answering();
    upstream.on(':generateContent', { body });
    const before = await spent();
    expect(await ask({ model: 'google/chat' })).toMatchObject({
      status: 500,
      body: { error: 'Generation failed' },
    });
    expect(await spent()).toBe(before);
    expect(await ask({ model: 'google/replaced' })).toMatchObject({
      status: 200,
      body: { model: 'mistral/chat', choices: [{ message: { content: 'Yes' } }] },
    });
  });

  it('is one where a filter says why there are none', async () => {
    upstream.on(':generateContent', { body: { promptFeedback: { blockReason: 'SAFETY' } } });
    expect(await ask({ model: 'google/chat' })).toMatchObject({
      status: 200,
      body: { choices: [{ message: { content: '' }, finish_reason: 'content_filter' }] },
    });
  });
});

describe('a stream of a maker’s own API that is cut off', () => {
  const COHERE = [
    { type: 'message-start', id: 'm' },
    { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
    { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Half' } } } },
  ];
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":' } };
  const CALLING = [
    COHERE[0]!,
    { type: 'tool-call-start', index: 0, delta: { message: { tool_calls: call } } },
  ];
  const TIMED_OUT = [
    ...COHERE,
    { type: 'content-end', index: 0 },
    {
      type: 'message-end',
      delta: { finish_reason: 'TIMEOUT', usage: { tokens: { input_tokens: 3, output_tokens: 1 } } },
    },
  ];
  const bedrock = (body: Buffer): NativeReply => ({
    headers: { 'content-type': 'application/vnd.amazon.eventstream' },
    body,
  });
  const half = { event: 'contentBlockDelta', payload: { contentBlockIndex: 0, delta: { text: 'Half' } } };
  const timeout = { exception: 'modelTimeoutException', payload: { message: 'Too slow' } };

  it.each<[string, string, NativeReply, string]>([
    ['Cohere, after its first words', 'cohere/chat', { events: COHERE }, 'Half'],
    ['Cohere, within a tool call', 'cohere/chat', { events: CALLING }, ''],
    ['Cohere, by its time-out', 'cohere/chat', { events: TIMED_OUT }, 'Half'],
    ['Bedrock, after its first words', 'amazon-bedrock/chat', bedrock(amazonEvents(half)), 'Half'],
    ['Bedrock, by its time-out', 'amazon-bedrock/chat', bedrock(amazonEvents(half, timeout)), 'Half'],
  ])('fails after what was delivered, and is charged for that (%s)', async (_name, model, reply, said) => {
    upstream.on('/v2/chat', reply);
    upstream.on('/converse-stream', reply);
    const before = await spent();
    expect(await streamed({ model })).toMatchObject({
      status: 200,
      said,
      finishReasons: [],
      error: 'Generation failed',
      done: false,
    });
    expect(await spent()).toBe(before + 1);
  });

  describe('of Claude', () => {
    const start = { type: 'message_start', message: { ...CLAUDE, content: [], stop_reason: null } };
    const saying = [
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } },
    ];
    const ending = (stop_reason: string | null) => [
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: 1 },
      },
    ];
    const last = { type: 'message_stop' };
    const failed = { said: 'Half', finishReasons: [], error: 'Generation failed', done: false };
    const whole = (reason: string) => ({
      said: 'Half',
      finishReasons: [reason],
      error: undefined,
      done: true,
    });

    it.each<[string, object[], object]>([
      ['within its text', saying, failed],
      ['with its last event, but no reason', [...saying, ...ending(null), last], failed],
      ['behind no reason', [...saying, ...ending(null)], failed],
      ['behind its reason', [...saying, ...ending('end_turn')], whole('stop')],
      ['behind the reason that its cap was reached', [...saying, ...ending('max_tokens')], whole('length')],
      ['behind its last event', [...saying, ...ending('end_turn'), last], whole('stop')],
    ])(
      'is whole where it said why it ended, and only then: the connection ends %s',
      async (_, events, outcome) => {
        upstream.on('/v1/messages', { events });
        expect(await streamed({ model: 'anthropic/chat' })).toMatchObject(outcome);
      },
    );

    it('before its first word is free', async () => {
      const before = await spent();
      for (const events of [[], [start]]) {
        upstream.on('/v1/messages', { events });
        expect((await ask({ model: 'anthropic/chat', stream: true })).status).toBe(500);
      }
      expect(await spent()).toBe(before);
    });
  });

  it('is no answer in one piece either: that is free, and a fallback answers', async () => {
    answering();
    upstream.on('/v2/chat', {
      body: {
        message: { role: 'assistant', content: [{ type: 'text', text: 'Half' }] },
        finish_reason: 'TIMEOUT',
        usage: { tokens: { input_tokens: 3, output_tokens: 1 } },
      },
    });
    const before = await spent();
    expect(await ask({ model: 'cohere/chat' })).toMatchObject({ status: 500 });
    expect(await spent()).toBe(before);
    expect(await ask({ model: 'cohere/replaced' })).toMatchObject({
      status: 200,
      body: { model: 'mistral/chat' },
    });
  });

  it('before its first word is free, and a fallback answers', async () => {
    upstream.on('/v2/chat', { events: [COHERE[0]!] });
    upstream.on('/mistral', {
      events: [{ choices: [{ index: 0, delta: { content: 'Instead' }, finish_reason: 'stop' }] }, '[DONE]'],
    });
    const before = await spent();
    const { status } = await ask({ model: 'cohere/chat', stream: true });
    expect(status).toBe(500);
    expect(await spent()).toBe(before);
    expect(await streamed({ model: 'cohere/replaced' })).toMatchObject({
      said: 'Instead',
      model: 'mistral/chat',
      finishReasons: ['stop'],
      done: true,
    });
  });

  it('is whole where its maker said why it ended', async () => {
    upstream.on('/converse-stream', bedrock(converseStream('Yes')));
    expect(await streamed({ model: 'amazon-bedrock/chat' })).toMatchObject({
      said: 'Yes',
      finishReasons: ['stop'],
      done: true,
    });
  });
});

describe('reasoning_effort of a Claude that is given tokens to think with', () => {
  const CLAUDES = ['amazon-bedrock/claude', 'anthropic/chat'];

  /** The whole cap and the tokens to think with, as the maker got them. */
  const asked = () => {
    const { inferenceConfig, additionalModelRequestFields, max_tokens, thinking } = upstream.requests.at(-1)!
      .json as Record<string, Record<string, number> & { thinking?: { budget_tokens: number } }>;
    return {
      cap: inferenceConfig?.['maxTokens'] ?? max_tokens,
      budget: (additionalModelRequestFields?.thinking ?? thinking)?.['budget_tokens'],
    };
  };

  it.each(CLAUDES)('takes them from the cap that was reserved, and never adds to it (%s)', async (model) => {
    answering();
    const got: unknown[] = [];
    for (const [reasoning_effort, max_tokens] of [
      ['low', 1025],
      ['low', 10_000],
      ['medium', 10_000],
      ['high', 10_000],
      ['max', 10_000],
      ['none', 10_000],
    ] as const) {
      expect(await ask({ model, max_tokens, reasoning_effort })).toMatchObject({ status: 200 });
      got.push(asked());
    }
    expect(got).toEqual([
      { cap: 1025, budget: 1024 },
      { cap: 10_000, budget: 2000 },
      { cap: 10_000, budget: 5000 },
      { cap: 10_000, budget: 8000 },
      { cap: 10_000, budget: 9500 },
      { cap: 10_000, budget: undefined },
    ]);
  });

  it.each(CLAUDES)('is refused where the least that its maker takes does not fit (%s)', async (model) => {
    const before = await spent();
    for (const reasoning_effort of ['low', 'high'])
      expect(await ask({ model, max_tokens: 1024, reasoning_effort })).toMatchObject({
        status: 400,
        body: {
          error: expect.stringMatching(/does not support reasoning_effort with max_tokens below 1025$/),
          code: 'invalid_request',
        },
      });
    expect(upstream.requests).toEqual([]);
    expect(await spent()).toBe(before);
  });

  it.each(CLAUDES)(
    'gives way where the credits cut the cap that was asked for below that (%s)',
    async (model) => {
      answering();
      const poor = await penstock.createOrg({ plan: 'business_monthly' });
      for (const max_tokens of [4096, undefined]) {
        await penstock.services.metering.setUsed(poor.orgId, 'credits', 79_900);
        const answer = await penstock.rest('POST', '/chat/completions', {
          key: poor.key,
          body: { messages, model, max_tokens, reasoning_effort: 'medium', temperature: 0.5 },
        });
        expect(answer).toMatchObject({ status: 200 });
        expect(asked().cap).toBeLessThan(1000);
        expect(asked().budget).toBeUndefined();
        expect(JSON.stringify(upstream.requests.at(-1)!.json)).toContain('"temperature":0.5');
      }
    },
  );

  const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };
  const format = (schema: object) => ({
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
  });
  const closed = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };
  const open = { ...closed, additionalProperties: true };

  it('is refused beside what its maker cannot do meanwhile, before anybody is asked', async () => {
    answering();
    const before = await spent();
    for (const [what, body] of [
      ['this response_format', { response_format: { type: 'json_object' } }],
      ['this response_format', format(open)],
      ['this tool_choice', { tools: [tool], tool_choice: 'required' }],
      ['this tool_choice', { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } } }],
      ['temperature', { temperature: 0.5 }],
      ['top_p', { top_p: 0.9 }],
    ] as const)
      for (const stream of [true, false])
        expect(
          await ask({ model: 'anthropic/chat', reasoning_effort: 'medium', stream, ...body }),
        ).toMatchObject({
          status: 400,
          body: { error: `Model claude-haiku-4-5 does not support ${what} beside reasoning_effort` },
        });
    expect(upstream.requests).toEqual([]);
    expect(await spent()).toBe(before);
  });

  it.each(CLAUDES)('goes beside all else, and beside what asks for nothing (%s)', async (model) => {
    answering();
    for (const body of [
      format(closed),
      { tools: [tool], tool_choice: 'auto' },
      { temperature: 1 },
      { temperature: 0.7, top_p: 1 },
      { response_format: { type: 'text' } },
    ]) {
      expect(await ask({ model, reasoning_effort: 'medium', ...body })).toMatchObject({ status: 200 });
      expect(asked().budget).toBe(1024);
      expect(JSON.stringify(upstream.requests.at(-1)!.json)).not.toMatch(/temperature|top_?p/i);
    }
    const forced = { response_format: { type: 'json_object' }, temperature: 0.5 };
    expect(await ask({ model, reasoning_effort: 'none', ...forced })).toMatchObject({ status: 200 });
  });

  it('leaves the cap as it is where the model thinks as it sees fit, and is refused where it takes no cap', async () => {
    answering();
    const small = { max_tokens: 100, reasoning_effort: 'high' };
    expect((await ask({ model: 'amazon-bedrock/adaptive', ...small })).status).toBe(200);
    expect(asked().cap).toBe(100);
    upstream.clear();
    expect(await ask({ model: 'amazon-bedrock/nova2', ...small })).toMatchObject({
      status: 400,
      body: { error: 'Model amazon.nova-2-lite-v1:0 does not support this reasoning_effort' },
    });
    expect(upstream.requests).toEqual([]);
  });
});
