import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  chunk,
  completion,
  DONE_EVENT,
  startFakeUpstream,
  usageChunk,
  type FakeUpstream,
} from '../support/fake-upstream.js';
import { amazonEvents } from '../support/amazon-events.js';
import { startPenstock, type TestServer } from '../support/server.js';
import {
  callOf,
  nativeMessage,
  nativeStream,
  SIGNATURE,
  textBlock,
  textOf,
  thoughtOf,
} from './native-messages.js';
import { at } from './v1.js';

let server: TestServer;
let upstream: FakeUpstream;
let search: FakeUpstream;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let client: Anthropic;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  search = await startFakeUpstream();
  search.always({
    body: { results: [{ title: 'Tide', url: 'https://tide.example/', content: 'High at noon.' }] },
  });
  const model = (id: string, upstreamId: string, more: object = {}) => ({
    id,
    type: 'chat',
    tier: 'basic',
    upstreamId,
    ...more,
  });
  const provider = {
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    apiKey: 'k',
    retry: { retries: 0 },
  };
  const files = { modalities: { input: ['text', 'image', 'file'], output: ['text'] } };
  server = await startPenstock({
    providers: {
      providers: [
        { id: 'acme', ...provider, models: [model('acme/chat', 'm', files)] },
        { id: 'nat', ...provider, dialects: ['messages'], models: [model('nat/chat', 'n', files)] },
        {
          id: 'open',
          ...provider,
          dialects: ['messages'],
          allowedTools: ['web_search', 'mcp', 'file_ids', 'code_execution'],
          models: [model('open/chat', 'o')],
        },
        {
          id: 'bed',
          ...provider,
          kind: 'amazon-bedrock',
          models: [
            model('bed/claude', 'us.anthropic.claude-x-v1:0'),
            { ...model('bed/nova', 'amazon.nova-x'), tier: 'basic' },
          ],
        },
        { id: 'ant', ...provider, kind: 'anthropic', models: [model('ant/chat', 'claude', files)] },
      ],
      fallbacks: { 'nat/chat': ['acme/chat'] },
    },
    env: { SEARXNG_URL: search.baseUrl.replace('/v1', '') },
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
  client = new Anthropic({ apiKey: org.key, baseURL: server.origin, maxRetries: 0 });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
  await search?.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
  search.requests.length = 0;
});

const sent = () => upstream.requests.at(-1)!;
const user = (content: unknown = 'Hello') => ({ role: 'user' as const, content: content as string });
const TOOL = { name: 'f', description: 'F', input_schema: { type: 'object' as const, properties: {} } };
const PDF = Buffer.from('%PDF-1.4 not really').toString('base64');

type Create = Anthropic.MessageCreateParamsNonStreaming;
const ask = (body: object): Promise<Anthropic.Message> =>
  client.messages.create({ max_tokens: 100, messages: [user()], ...body } as Create);
const stream = (body: object) =>
  client.messages.stream({ max_tokens: 100, messages: [user()], ...body } as Create);

interface Row {
  operation: string;
  state: string;
  amounts: { bucket: string; amount: number }[];
}

async function ledger(): Promise<Row[]> {
  const query = `{ usageRecords(first: 100) { nodes { operation state amounts { bucket amount } } } }`;
  const { data } = await server.graphql<{ usageRecords: { nodes: Row[] } }>(query, { key: org.key });
  return data!.usageRecords.nodes;
}

const credits = (row: Row | undefined): number | undefined =>
  row?.amounts.find(({ bucket }) => bucket === 'credits')?.amount;

describe('an upstream that speaks the dialect', () => {
  it.each(['nat/chat', 'ant/chat'])('gets the request as it came, ours aside: %s', async (model) => {
    upstream.queue({ body: nativeMessage([textBlock('Hi')], { fingerprint: 'kept' }) });
    const cache_control = { type: 'ephemeral' as const };
    const body = {
      system: [{ type: 'text', text: 'Be brief.', cache_control }],
      messages: [
        user([{ type: 'text', text: 'Hello', cache_control }]),
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: SIGNATURE },
            { type: 'redacted_thinking', data: 'opaque' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
          ],
        },
        user([
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [
              { type: 'text', text: 'no' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            ],
          },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            title: 'T',
          },
        ]),
      ],
      tools: [
        { ...TOOL, cache_control },
        { type: 'bash_20250124', name: 'bash' },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2048 },
      max_tokens: 4000,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      context_management: { edits: [] },
      future_field: { kept: true },
    };
    const { data, response } = await client.beta.messages
      .create({ model, betas: ['context-management-2025-06-27'], ...body } as never)
      .withResponse();
    expect(sent().path).toBe('/v1/messages');
    expect(sent().headers).toMatchObject({
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'context-management-2025-06-27',
      ...(model === 'nat/chat' ? { authorization: 'Bearer k' } : { 'x-api-key': 'k' }),
    });
    expect(sent().body).toEqual({ ...body, model: model === 'nat/chat' ? 'n' : 'claude', stream: false });
    expect(data).toMatchObject({
      model,
      content: [{ type: 'text', text: 'Hi' }],
      fingerprint: 'kept',
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 4,
        output_tokens: 5,
        credits_used: 1,
      },
    });
    expect((data as Anthropic.Message).id).toMatch(/^msg_[0-9a-z]{26}$/);
    expect(response.headers.get('x-penstock-tools-left-out')).toBeNull();
  });

  it('has its stream passed, and its signatures come back to it verbatim', async () => {
    const blocks = [thoughtOf('Let me ', 'see'), callOf('toolu_9', 'f', '{"a"', ':1}')];
    upstream.queue({ chunks: nativeStream(blocks, { reason: 'tool_use' }) });
    const first = await stream({ model: 'nat/chat', tools: [TOOL] }).finalMessage();
    expect(first).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Let me see', signature: SIGNATURE },
        { type: 'tool_use', id: 'toolu_9', name: 'f', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 5 },
    });
    upstream.queue({ body: nativeMessage([textBlock('Done')]) });
    const result = user([{ type: 'tool_result', tool_use_id: 'toolu_9', content: 'ok' }]);
    await ask({
      model: 'nat/chat',
      tools: [TOOL],
      messages: [user(), { role: 'assistant', content: first.content }, result],
    });
    const [, assistant] = sent().body['messages'] as { content: object[] }[];
    expect(assistant!.content).toEqual(first.content);
  });

  it('has deltas passed byte by byte', async () => {
    const events = nativeStream([textOf('a', 'b', 'c')]);
    upstream.queue({ chunks: events });
    const { body } = await at(server, '/v1')('POST', '/messages', {
      headers: { 'x-api-key': org.key },
      body: { model: 'nat/chat', messages: [user()], stream: true },
    });
    for (const delta of events.filter((one) => one.includes('delta"'))) {
      if (!delta.includes('message_delta')) expect(body).toContain(delta);
    }
  });

  it('is charged for by what it reports, caches included', async () => {
    const before = (await ledger()).length;
    const usage = {
      input_tokens: 1000,
      cache_creation_input_tokens: 1000,
      cache_read_input_tokens: 1000,
      output_tokens: 500,
    };
    upstream.queue({ body: nativeMessage([textBlock('Hi')], { usage }) });
    const answer = await ask({ model: 'nat/chat' });
    expect(answer.usage).toMatchObject({ ...usage, credits_used: 4 });
    const rows = await ledger();
    expect(rows).toHaveLength(before + 1);
    expect([rows[0]!.operation, credits(rows[0])]).toEqual(['chat', 4]);
  });

  it('is aborted with its reader, who pays for what was delivered', async () => {
    const before = (await ledger()).length;
    upstream.queue({ chunks: nativeStream([textOf('one ', 'two ')]).slice(0, 5), then: 'hang' });
    const reading = stream({ model: 'nat/chat' });
    reading.on('text', (_, snapshot) => {
      if (snapshot.length > 5) reading.abort();
    });
    await expect(reading.finalMessage()).rejects.toThrow();
    await sent().hungUp;
    await expect.poll(async () => (await ledger())[0]?.state).toBe('settled');
    expect((await ledger()).length).toBe(before + 1);
    expect(credits((await ledger())[0])).toBe(1);
  });

  it('that fails before its answer is replaced by a fallback that speaks chat', async () => {
    upstream.queue({ status: 500, body: {} }, { body: completion('From the other') });
    const answer = await ask({ model: 'nat/chat', messages: [user()] });
    expect(answer).toMatchObject({ model: 'acme/chat', content: [{ type: 'text', text: 'From the other' }] });
  });

  it('gets tools that cost money there only where its entry allows them', async () => {
    const tools = [
      TOOL,
      { type: 'web_fetch_20250910', name: 'web_fetch' },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ];
    const mcp_servers = [{ type: 'url', url: 'https://mcp.example', name: 'm' }];
    upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
    const shut = await at(server, '/v1')('POST', '/messages', {
      headers: { 'x-api-key': org.key },
      body: { model: 'nat/chat', messages: [user()], tools, mcp_servers, container: 'c' },
    });
    expect(shut.headers['x-penstock-tools-left-out']).toBe(
      'web_fetch_20250910,code_execution_20250825,mcp_servers',
    );
    expect(sent().body).toMatchObject({ tools: [TOOL] });
    expect(sent().body).not.toHaveProperty('mcp_servers');
    expect(sent().body).not.toHaveProperty('container');
    upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
    const file = { type: 'document', source: { type: 'file', file_id: 'file_1' } };
    await ask({
      model: 'open/chat',
      tools: [{ type: 'web_search_20250305', name: 'web_search' }, tools[2]],
      mcp_servers,
      container: 'c',
      messages: [user([file, { type: 'text', text: 'x' }])],
    });
    expect(sent().body).toMatchObject({
      tools: [{ type: 'web_search_20250305' }, { type: 'code_execution_20250825' }],
      mcp_servers,
      container: 'c',
      messages: [{ content: [file, {}] }],
    });
  });
});

describe('a Claude at Bedrock', () => {
  it('gets the request in the form of its maker, and is read in that', async () => {
    upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
    const { data } = await client.beta.messages
      .create({
        model: 'bed/claude',
        betas: ['context-1m-2025-08-07', 'claude-code-20250219'],
        max_tokens: 100,
        messages: [user()],
        tools: [TOOL],
      } as never)
      .withResponse();
    expect(data).toMatchObject({ model: 'bed/claude', content: [{ text: 'Hi' }] });
    expect(sent().path).toBe('/v1/model/us.anthropic.claude-x-v1%3A0/invoke');
    expect(sent().headers.authorization).toBe('Bearer k');
    expect(sent().body).toEqual({
      anthropic_version: 'bedrock-2023-05-31',
      anthropic_beta: ['context-1m-2025-08-07'],
      max_tokens: 100,
      messages: [user()],
      tools: [TOOL],
    });
  });

  const headers = { 'content-type': 'application/vnd.amazon.eventstream' };
  const chunksOf = (events: string[]): Buffer =>
    amazonEvents(
      ...events.map((one) => {
        const data = /^data: (.*)$/m.exec(one)![1]!;
        return { event: 'chunk', payload: { bytes: Buffer.from(data).toString('base64'), p: 'abc' } };
      }),
    );

  it('streams, wherever its messages are cut', async () => {
    const bytes = chunksOf(nativeStream([thoughtOf('Hm'), textOf('Grüße ', '🌍')]));
    for (const size of [1, 7, 100, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at_) =>
        bytes.subarray(at_ * size, (at_ + 1) * size),
      );
      upstream.queue({ headers, chunks });
      const answer = await stream({ model: 'bed/claude' }).finalMessage();
      expect(answer.content).toMatchObject([
        { type: 'thinking', thinking: 'Hm', signature: SIGNATURE },
        { type: 'text', text: 'Grüße 🌍' },
      ]);
      expect(sent().path).toContain('/invoke-with-response-stream');
    }
  });

  it('that ends with an exception fails in the stream', async () => {
    const begun = chunksOf(nativeStream([textOf('one')]).slice(0, 4));
    const failed = amazonEvents({ exception: 'throttlingException', payload: { message: 'slow' } });
    upstream.queue({ headers, chunks: [begun, failed] });
    await expect(stream({ model: 'bed/claude' }).finalMessage()).rejects.toMatchObject({
      error: { error: { type: 'api_error' } },
    });
  });

  it('is no other model of Bedrock: that one is asked by chat', async () => {
    upstream.queue({
      body: {
        output: { message: { role: 'assistant', content: [{ text: 'Nova' }] } },
        stopReason: 'end_turn',
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
        metrics: { latencyMs: 1 },
      },
    });
    expect(await ask({ model: 'bed/nova' })).toMatchObject({ content: [{ type: 'text', text: 'Nova' }] });
    expect(sent().path).toContain('/converse');
  });
});

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

describe('an upstream that speaks chat', () => {
  it('gets the request as a chat', async () => {
    upstream.queue({ body: completion('Hi') });
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
    await ask({
      model: 'acme/chat',
      system: [
        { type: 'text', text: 'One' },
        { type: 'text', text: 'Two' },
      ],
      messages: [
        user('First'),
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: SIGNATURE },
            { type: 'text', text: 'Calling' },
            { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
            { type: 'tool_use', id: 'c2', name: 'f', input: {} },
          ],
        },
        user([
          { type: 'tool_result', tool_use_id: 'c1', content: 'one' },
          { type: 'tool_result', tool_use_id: 'c2', content: [{ type: 'text', text: 'two' }, image] },
          { type: 'text', text: 'Go on' },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            title: 'T',
          },
        ]),
        { role: 'system', content: 'Late word' },
      ],
      tools: [TOOL],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2048 },
      max_tokens: 3000,
      stop_sequences: ['END'],
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      metadata: { user_id: 'u' },
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    });
    expect(sent().path).toBe('/v1/chat/completions');
    expect(sent().body).toMatchObject({
      model: 'm',
      messages: [
        { role: 'system', content: 'One\n\nTwo' },
        { role: 'user', content: 'First' },
        {
          role: 'assistant',
          content: 'Calling',
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
            { id: 'c2', type: 'function', function: { name: 'f', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'one' },
        { role: 'tool', tool_call_id: 'c2', content: 'two' },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
            { type: 'text', text: 'Go on' },
            { type: 'text', text: 'T' },
            { type: 'file', file: { filename: 'T.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
          ],
        },
        { role: 'system', content: 'Late word' },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: 'F' } }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      reasoning_effort: 'low',
      max_tokens: 3000,
      stop: ['END'],
      temperature: 0.5,
      top_p: 0.9,
      response_format: { type: 'json_schema' },
    });
    for (const name of ['metadata', 'user', 'top_k', 'thinking', 'system'])
      expect(sent().body).not.toHaveProperty(name);
  });

  it('that knows no effort is asked without it', async () => {
    upstream.queue(
      {
        status: 400,
        body: { error: { message: "Unknown parameter: 'reasoning_effort'.", param: 'reasoning_effort' } },
      },
      { body: completion('Hi') },
    );
    const answer = await ask({ model: 'acme/chat', output_config: { effort: 'high' } });
    expect(answer.content).toMatchObject([{ text: 'Hi' }]);
    expect(sent().body).not.toHaveProperty('reasoning_effort');
  });

  it.each<[object, object]>([
    [{ finish_reason: 'length' }, { stop_reason: 'max_tokens' }],
    [{ finish_reason: 'content_filter' }, { stop_reason: 'refusal' }],
    [
      { finish_reason: 'stop', stop_reason: 'END' },
      { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    ],
    [{ finish_reason: 'stop' }, { stop_reason: 'end_turn', stop_sequence: null }],
  ])('ends as the convention says: %o', async (choice, expected) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'x' }, ...choice }];
    upstream.queue({ body: completion('', { choices }) });
    expect(await ask({ model: 'acme/chat', stop_sequences: ['END'] })).toMatchObject(expected);
    upstream.queue({
      chunks: [
        chunk({ content: 'x' }),
        chunk({}, { ...choice, choices: [{ index: 0, delta: {}, ...choice }] }),
        DONE_EVENT,
      ],
    });
    const streamed = await stream({ model: 'acme/chat', stop_sequences: ['END'] }).finalMessage();
    expect(streamed).toMatchObject(expected);
  });

  it.each([false, true])(
    'gets back what its turn carried, which travels sealed (stream: %s)',
    async (isStream) => {
      const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
      const carried = {
        reasoning_content: 'I think',
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'opaque', index: 0 }],
      };
      const extra = { extra_content: { google: { thought_signature: 'sig' } } };
      if (isStream)
        upstream.queue({
          chunks: [
            chunk({ reasoning_content: 'I ', reasoning_details: carried.reasoning_details }),
            chunk({ reasoning_content: 'think' }),
            chunk({ content: 'Well' }),
            chunk({ tool_calls: [{ index: 0, ...call, ...extra }] }),
            chunk({}, { finish_reason: 'tool_calls' }),
            usageChunk(10, 5),
            DONE_EVENT,
          ],
        });
      else
        upstream.queue({
          body: completion('', {
            choices: [
              {
                index: 0,
                message: {
                  role: 'assistant',
                  content: 'Well',
                  ...carried,
                  tool_calls: [{ ...call, ...extra }],
                },
                finish_reason: 'tool_calls',
              },
            ],
          }),
        });
      const asked = { model: 'acme/chat', tools: [TOOL] };
      const first = isStream ? await stream(asked).finalMessage() : await ask(asked);
      expect(first.content[0]).toMatchObject({ type: 'thinking', thinking: 'I think' });
      expect(JSON.stringify(first)).not.toContain('opaque');
      const messages = [
        user(),
        { role: 'assistant', content: first.content },
        user([{ type: 'tool_result', tool_use_id: 'c1', content: 'ok' }]),
      ];
      await ask({ ...asked, messages });
      const [, assistant] = sent().body['messages'] as object[];
      expect(assistant).toMatchObject({
        role: 'assistant',
        content: 'Well',
        ...carried,
        tool_calls: [{ ...call, ...extra }],
      });
      // Another organisation's client cannot use it, and no maker is sent it.
      const stranger = await server.createOrg({ plan: 'business_monthly' });
      await new Anthropic({ apiKey: stranger.key, baseURL: server.origin }).messages.create({
        ...asked,
        max_tokens: 50,
        messages,
      } as Create);
      expect(JSON.stringify(sent().body)).not.toContain('opaque');
      upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
      await ask({ ...asked, model: 'nat/chat', messages });
      expect(JSON.stringify(sent().body)).not.toMatch(/pst1_|opaque/);
    },
  );
});

describe('a budget to think with', () => {
  it('is a 402 where what is left covers no more than it', async () => {
    const poor = await server.createOrg({ plan: 'pro_monthly' });
    await server.cli('quota', 'set', '--org', poor.orgId, '--bucket', 'credits', '--used', '197');
    const own = new Anthropic({ apiKey: poor.key, baseURL: server.origin, maxRetries: 0 });
    const body = {
      messages: [user()],
      thinking: { type: 'enabled' as const, budget_tokens: 5000 },
      max_tokens: 8000,
    };
    for (const model of ['nat/chat', 'acme/chat'])
      await expect(own.messages.create({ ...body, model })).rejects.toMatchObject({
        status: 402,
        error: { error: { type: 'billing_error' } },
      });
    expect(upstream.requests).toHaveLength(0);
    upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
    const less = { ...body, thinking: { type: 'enabled' as const, budget_tokens: 1024 } };
    await own.messages.create({ ...less, model: 'nat/chat' });
    expect(sent().body['max_tokens']).toBeLessThan(8000);
  });
});

describe('a web search', () => {
  const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }];
  const call = {
    id: 'call_s',
    type: 'function',
    function: { name: 'web_search', arguments: '{"query":"tide"}' },
  };
  const found = [
    { type: 'server_tool_use', name: 'web_search', input: { query: 'tide' } },
    { type: 'web_search_tool_result', content: [{ title: 'Tide', url: 'https://tide.example/' }] },
    { type: 'text', text: 'At noon.' },
  ];

  it.each([false, true])(
    'is a round inside the same answer of a chat, priced once (stream: %s)',
    async (isStream) => {
      const before = (await ledger()).length;
      if (isStream)
        upstream.queue(
          {
            chunks: [
              chunk({ tool_calls: [{ ...call, index: 0 }] }),
              chunk({}, { finish_reason: 'tool_calls' }),
              usageChunk(1000, 10),
              DONE_EVENT,
            ],
          },
          {
            chunks: [
              chunk({ content: 'At noon.' }),
              chunk({}, { finish_reason: 'stop' }),
              usageChunk(2000, 90),
              DONE_EVENT,
            ],
          },
        );
      else {
        const message = { role: 'assistant', content: null, tool_calls: [call] };
        const usage = (prompt_tokens: number, completion_tokens: number) => ({
          prompt_tokens,
          completion_tokens,
        });
        upstream.queue(
          {
            body: completion('', {
              choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
              usage: usage(1000, 10),
            }),
          },
          { body: completion('At noon.', { usage: usage(2000, 90) }) },
        );
      }
      const asked = { model: 'acme/chat', tools, tool_choice: { type: 'tool', name: 'web_search' } };
      const answer = isStream ? await stream(asked).finalMessage() : await ask(asked);
      expect(answer).toMatchObject({
        content: found,
        stop_reason: 'end_turn',
        usage: { input_tokens: 3000, output_tokens: 100, server_tool_use: { web_search_requests: 1 } },
      });
      expect(upstream.requests[0]!.body['tool_choice']).toMatchObject({ function: { name: 'web_search' } });
      expect(sent().body['tool_choice']).toBe('auto');
      const told = (sent().body['messages'] as { role: string; content: string }[]).at(-1)!;
      expect(told).toMatchObject({ role: 'tool', content: expect.stringContaining('High at noon.') });
      const rows = (await ledger()).slice(0, (await ledger()).length - before);
      const charged = rows.filter(({ state }) => state === 'settled');
      expect(charged.map((row) => [row.operation, credits(row)]).sort()).toEqual([
        ['agent_tool', 5],
        ['chat', 4],
      ]);
      // The next turn goes on without what only our search knows.
      await ask({
        ...asked,
        messages: [user(), { role: 'assistant', content: answer.content }, user('And tomorrow?')],
      });
      expect(sent().body['messages']).toMatchObject([{}, { role: 'assistant', content: 'At noon.' }, {}]);
    },
  );

  it.each([false, true])('is one at an upstream of the dialect too (stream: %s)', async (isStream) => {
    const asks = { type: 'tool_use', id: 'toolu_s', name: 'web_search', input: { query: 'tide' } };
    const thinking = { type: 'thinking', thinking: 'Look', signature: SIGNATURE };
    if (isStream)
      upstream.queue(
        {
          chunks: nativeStream([thoughtOf('Look'), callOf('toolu_s', 'web_search', '{"query":', '"tide"}')], {
            reason: 'tool_use',
          }),
        },
        { chunks: nativeStream([textOf('At ', 'noon.')]) },
      );
    else
      upstream.queue(
        { body: nativeMessage([thinking, asks], { stop_reason: 'tool_use' }) },
        { body: nativeMessage([textBlock('At noon.')]) },
      );
    const asked = { model: 'nat/chat', tools };
    const answer = isStream ? await stream(asked).finalMessage() : await ask(asked);
    expect(answer.content).toMatchObject([thinking, ...found]);
    expect(answer.usage).toMatchObject({ input_tokens: 20, cache_read_input_tokens: 8, output_tokens: 10 });
    expect(upstream.requests[0]!.body['tools']).toMatchObject([{ name: 'web_search', input_schema: {} }]);
    expect(sent().body['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [thinking, asks] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_s' }] },
    ]);
    upstream.queue({ body: nativeMessage([textBlock('Rain')]) });
    await ask({ ...asked, messages: [user(), { role: 'assistant', content: answer.content }, user('And?')] });
    expect(sent().body['messages']).toMatchObject([{}, { content: [thinking, { text: 'At noon.' }] }, {}]);
  });
});

describe('a call with an Idempotency-Key', () => {
  it.each([false, true])(
    'is made and charged once, and answered again as it was (stream: %s)',
    async (isStream) => {
      const before = (await ledger()).length;
      upstream.queue(
        isStream ? { chunks: nativeStream([textOf('Hi')]) } : { body: nativeMessage([textBlock('Hi')]) },
      );
      const tools = [{ type: 'web_fetch_20250910', name: 'web_fetch' }];
      const post = () =>
        at(server, '/v1')('POST', '/messages', {
          headers: { 'x-api-key': org.key, 'idempotency-key': `native-${isStream}` },
          body: { model: 'nat/chat', messages: [user()], tools, stream: isStream },
        });
      const first = await post();
      const again = await post();
      expect(again.body).toEqual(first.body);
      expect(again.headers['x-penstock-tools-left-out']).toBe('web_fetch_20250910');
      expect(first.headers['x-penstock-tools-left-out']).toBe('web_fetch_20250910');
      expect(upstream.requests).toHaveLength(1);
      expect((await ledger()).length).toBe(before + 1);
    },
  );
});
