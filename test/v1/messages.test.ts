import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';
import { at } from './v1.js';

let server: TestServer;
let client: Anthropic;
let org: Awaited<ReturnType<TestServer['createOrg']>>;

beforeAll(async () => {
  server = await startPenstock({
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
  client = new Anthropic({ apiKey: org.key, baseURL: server.origin, maxRetries: 0 });
});
afterAll(() => server?.close());

const model = 'sandbox/chat-basic';
const asked = (text = 'Say hello. @sandbox{"tokens":12}') => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: text }],
});

/** What a refusal says. */
async function refusal(work: Promise<unknown>): Promise<APIError> {
  const fault = await work.then(
    () => null,
    (error: unknown) => error,
  );
  expect(fault).toBeInstanceOf(APIError);
  return fault as APIError;
}

/** The ledger of all calls. */
async function usage(): Promise<unknown[]> {
  const query = '{ usageRecords(first: 100) { nodes { requestId } } }';
  const { data } = await server.graphql<{ usageRecords: { nodes: unknown[] } }>(query, { key: org.key });
  return data!.usageRecords.nodes;
}

const TOOL = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};

describe('a message, as the official client asks for it', () => {
  it('is the whole object with usage and charge', async () => {
    const answer = await client.messages.create({ ...asked(), model: 'chat-basic' });
    expect(answer).toMatchObject({
      type: 'message',
      role: 'assistant',
      model,
      model_tier: 'basic',
      content: [{ type: 'text', text: expect.any(String) }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 12,
        server_tool_use: null,
        credits_used: 1,
      },
    });
    expect(answer.id).toMatch(/^msg_[0-9a-z]{26}$/);
    expect(answer._request_id).toBeTruthy();
  });

  it('streams every event in its order, and the client puts the same message together', async () => {
    const stream = client.messages.stream(asked());
    const types: string[] = [];
    stream.on('streamEvent', ({ type }) => types.push(type));
    const message = await stream.finalMessage();
    expect(types.slice(0, 2)).toEqual(['message_start', 'content_block_start']);
    expect(types.slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop']);
    expect(new Set(types.slice(2, -3))).toEqual(new Set(['content_block_delta']));
    const whole = await client.messages.create(asked());
    const { credits_used: _, ...usage } = whole.usage as Anthropic.Usage & { credits_used: number };
    const { id: _id, _request_id, ...same } = whole;
    expect(message).toMatchObject({ ...same, usage });
  });

  it('sends a ping, which other clients wait for', async () => {
    const { body } = await at(server, '/v1')('POST', '/messages', {
      headers: { 'x-api-key': org.key },
      body: { ...asked(), stream: true },
    });
    expect(body).toContain('event: ping\ndata: {"type":"ping"}\n\n');
    expect(body).toMatch(/event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/);
  });

  it('goes through a loop of tools, streamed', async () => {
    const first = await client.messages
      .stream({
        ...asked('@sandbox{"tool_call":{"name":"get_weather","arguments":{"city":"Bern"}}}'),
        tools: [TOOL],
        tool_choice: { type: 'any' },
      })
      .finalMessage();
    expect(first.stop_reason).toBe('tool_use');
    const call = first.content.find((block) => block.type === 'tool_use');
    expect(call).toMatchObject({ name: 'get_weather', input: { city: 'Bern' } });
    const second = await client.messages.create({
      ...asked('What is the weather?'),
      tools: [TOOL],
      messages: [
        { role: 'user', content: 'What is the weather?' },
        { role: 'assistant', content: first.content },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: call!.id, content: [{ type: 'text', text: 'Rain' }] },
            { type: 'text', text: 'Say it. @sandbox{"tokens":4}' },
          ],
        },
      ],
    });
    expect(second.stop_reason).toBe('end_turn');
  });

  it('belongs to no thread: a client that would continue one sends the whole conversation', async () => {
    const before = (await usage()).length;
    const calls: unknown[] = [];
    const run = (input: unknown) => {
      calls.push(input);
      return 'sunny';
    };
    const runner = client.beta.messages.toolRunner({
      ...asked('@sandbox{"tool_call":{"name":"get_weather","arguments":{"city":"Rome"}}}'),
      tools: [{ ...TOOL, run, parse: (input: unknown) => input }],
    });
    const last = await runner;
    expect([calls, last.stop_reason]).toEqual([[{ city: 'Rome' }], 'end_turn']);
    expect(runner.params.messages.length).toBeGreaterThanOrEqual(3);
    expect(await usage()).toHaveLength(before + 2);
    const continued = { type: 'continue' as const, previous_message_id: last.id };
    const fault = await refusal(client.beta.messages.create({ ...asked(), thread: continued }));
    expect([fault.status, fault.error]).toMatchObject([
      404,
      { error: { type: 'not_found_error', details: { error_code: 'thread_not_found' } } },
    ]);
    expect(await usage()).toHaveLength(before + 2);
  });

  it('ends with max_tokens where it was cut', async () => {
    const cut = await client.messages.create({ ...asked('@sandbox{"tokens":50}'), max_tokens: 5 });
    expect(cut.stop_reason).toBe('max_tokens');
  });

  it('takes a request without a cap', async () => {
    const { max_tokens: _, ...body } = asked();
    const answer = await client.messages.create(body as Anthropic.MessageCreateParamsNonStreaming);
    expect(answer.stop_reason).toBe('end_turn');
  });

  it('takes what Claude Code sends', async () => {
    const cache_control = { type: 'ephemeral' };
    const { status, headers } = await at(server, '/v1')('POST', '/messages?beta=true', {
      headers: {
        authorization: `Bearer ${org.key}`,
        'anthropic-version': '2023-06-01',
        'anthropic-beta':
          'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27',
        'x-app': 'cli',
      },
      body: {
        model,
        max_tokens: 32_000,
        stream: true,
        metadata: { user_id: JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's' }) },
        system: [
          { type: 'text', text: 'You are an agent.', cache_control },
          { type: 'text', text: 'Work well.', cache_control: { ...cache_control, ttl: '1h' } },
        ],
        tools: [
          { ...TOOL, cache_control, eager_input_streaming: true, defer_loading: false },
          { type: 'web_search_20250305', name: 'web_search', max_uses: 8 },
          { type: 'bash_20250124', name: 'bash' },
        ],
        messages: [
          { role: 'system', content: 'Today is Monday.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: '<system-reminder>x</system-reminder>' },
              { type: 'text', text: 'Hello @sandbox{"tokens":3}', cache_control },
            ],
          },
        ],
        thinking: { type: 'adaptive' },
        context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
        output_config: { effort: 'high' },
        mcp_servers: [],
        temperature: 1,
      },
    });
    expect(status).toBe(200);
    expect(headers['x-penstock-tools-left-out']).toBe('web_search_20250305,bash_20250124');
  });

  it('lists a tool that is left out, whatever characters its type has', async () => {
    const answer = await at(server, '/v1')('POST', '/messages', {
      headers: { authorization: `Bearer ${org.key}` },
      body: {
        tools: [{ type: '¿\u{3ed0}\n,' }, { type: 'x'.repeat(600) }],
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 16,
      },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers['x-penstock-tools-left-out']).toBe('%C2%BF%E3%BB%90%0A%2C');
  });

  it('reads a PDF, a text and a page for a model that takes words alone', async () => {
    const document = (source: object, title: string) => ({ type: 'document', source, title });
    const answer = await client.messages.create({
      ...asked(),
      messages: [
        {
          role: 'user',
          content: [
            document({ type: 'text', media_type: 'text/plain', data: 'Tide tables' }, 'Tides'),
            document({ type: 'content', content: [{ type: 'text', text: 'Inner' }] }, 'Blocks'),
            document(
              {
                type: 'base64',
                media_type: 'text/plain',
                data: Buffer.from('Plain words').toString('base64'),
              },
              'notes.txt',
            ),
            { type: 'text', text: 'Sum up. @sandbox{"tokens":3}' },
          ] as Anthropic.ContentBlockParam[],
        },
      ],
    });
    expect(answer.usage.input_tokens).toBeGreaterThan(10);
  });
});

describe('a count of tokens', () => {
  it('is what the same message tells, and costs nothing', async () => {
    const { max_tokens: _, ...body } = asked();
    const before = await client.messages.create(asked());
    const rows = await ledger();
    const count = await client.messages.countTokens({ ...body, system: undefined });
    expect(count).toMatchObject({ input_tokens: before.usage.input_tokens });
    const more = await client.messages.countTokens({ ...body, tools: [TOOL], system: 'Be brief.' });
    expect(more.input_tokens).toBeGreaterThan(count.input_tokens);
    expect(await ledger()).toBe(rows);
  });

  it('takes a slot of the window of the key', async () => {
    const { messages } = asked();
    const v1 = at(server, '/v1');
    const headers = { 'x-api-key': org.key };
    const left = async () => {
      const answer = await v1('POST', '/messages/count_tokens', { headers, body: { model, messages } });
      return Number(answer.headers['x-ratelimit-remaining']);
    };
    const first = await left();
    expect(await left()).toBe(first - 1);
  });

  it('refuses what a message would be refused for', async () => {
    const fault = await refusal(client.messages.countTokens({ model, messages: [] }));
    expect(fault.status).toBe(400);
    expect(fault.message).toContain('messages must have at least one message');
  });
});

async function ledger(): Promise<number> {
  const query = `{ usageRecords(first: 100) { nodes { operation } } }`;
  const { data } = await server.graphql<{ usageRecords: { nodes: unknown[] } }>(query, { key: org.key });
  return data!.usageRecords.nodes.length;
}

describe('a refusal', () => {
  it.each<[string, object, string]>([
    ['messages', { messages: [] }, 'messages must have at least one message'],
    ['a role', { messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role must be one of'],
    [
      'a block',
      { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
      'messages[0].content[0].type hologram',
    ],
    [
      'an image',
      { messages: [{ role: 'user', content: [{ type: 'image' }] }] },
      'messages[0].content[0].source must be an object',
    ],
    [
      'a result of no call',
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'y' }] }] },
      'messages[0].content[0]: there is no tool_use with the id x',
    ],
    [
      'a file id',
      {
        messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }] }],
      },
      'file ids',
    ],
    ['a tool', { tools: [{ name: 'x' }] }, 'tools[0].input_schema must be an object'],
    [
      'a choice',
      { tools: [TOOL], tool_choice: { type: 'tool', name: 'other' } },
      'there is no tool named other',
    ],
    [
      'a forced tool of its maker',
      { tools: [{ type: 'bash_20250124', name: 'bash' }], tool_choice: { type: 'tool', name: 'bash' } },
      'tool_choice: bash_20250124 is not available here',
    ],
    [
      'a budget',
      { thinking: { type: 'enabled', budget_tokens: 10 } },
      'thinking.budget_tokens must be a whole number',
    ],
    [
      'a budget beyond the cap',
      { thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 2000 },
      'max_tokens must be greater than thinking.budget_tokens',
    ],
    ['a temperature', { temperature: 1.5 }, 'temperature must be between 0 and 1'],
    ['a system', { system: [{ type: 'image' }] }, 'system[0].type must be text'],
    ['stops', { stop_sequences: [1] }, 'stop_sequences[0] must be a string'],
    ['a model', { model: 'sandbox/none' }, 'sandbox/none'],
  ])('names what is wrong with %s', async (_, more, message) => {
    const body = { ...asked(), ...more } as Anthropic.MessageCreateParamsNonStreaming;
    const fault = await refusal(client.messages.create(body));
    expect(fault.status).toBe(400);
    expect(fault.error).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
    expect((fault.error as { error: { message: string } }).error.message).toContain(message);
  });

  it('of credentials, budget and size is of the class that the client has for it', async () => {
    const stranger = new Anthropic({ apiKey: 'wrong', baseURL: server.origin, maxRetries: 0 });
    expect(await refusal(stranger.messages.create(asked()))).toBeInstanceOf(Anthropic.AuthenticationError);
    const poor = await server.createOrg({ plan: 'pro_monthly' });
    await server.cli('quota', 'set', '--org', poor.orgId, '--bucket', 'credits', '--used', '200');
    const { key: scoped } = await server.createKey(poor.orgId, { scopes: ['tts'] });
    const of = (authToken: string) =>
      new Anthropic({ authToken, apiKey: null, baseURL: server.origin, maxRetries: 0 });
    const broke = await refusal(of(poor.key).messages.create(asked()));
    expect([broke.status, broke.type]).toEqual([402, 'billing_error']);
    expect(await refusal(of(scoped).messages.create(asked()))).toBeInstanceOf(
      Anthropic.PermissionDeniedError,
    );
  });

  it('inside a stream is an event of its own', async () => {
    const stream = client.messages.stream(asked('@sandbox{"fail_after_tokens":2,"tokens":9}'));
    const fault = await refusal(stream.finalMessage());
    expect((fault.error as { error: { type: string } }).error.type).toBe('api_error');
  });
});

it('is there over GraphQL too', async () => {
  const query = `mutation ($input: ModelMessageInput!) { createModelMessage(input: $input) { id model text stopReason usage { inputTokens outputTokens creditsUsed } } }`;
  const { model: id, messages, max_tokens: maxTokens } = asked();
  const { data } = await server.graphql(query, {
    key: org.key,
    variables: { input: { model: id, messages, maxTokens } },
  });
  expect(data).toMatchObject({
    createModelMessage: { model, stopReason: 'end_turn', usage: { outputTokens: 12, creditsUsed: 1 } },
  });
});

it('answers a retry with the same Idempotency-Key by the same message, streamed and not', async () => {
  const v1 = at(server, '/v1');
  for (const stream of [false, true]) {
    const headers = { 'x-api-key': org.key, 'idempotency-key': `message-${stream}` };
    const body = { ...asked(), stream };
    const first = await v1('POST', '/messages', { headers, body });
    const rows = await ledger();
    const again = await v1('POST', '/messages', { headers, body });
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await ledger()).toBe(rows);
  }
});
