import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { chunk, completion, DONE_EVENT, startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let upstream: FakeUpstream;
let penstock: TestServer;
let key: string;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const model = { type: 'chat', tier: 'basic' };
  const acme = {
    id: 'acme',
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    retry: { retries: 0, backoffMs: 1 },
    models: [
      { id: 'acme/chat', upstreamId: 'chat', ...model },
      { id: 'acme/picky', upstreamId: 'picky', ...model },
      { id: 'acme/other', upstreamId: 'other', ...model },
    ],
  };
  penstock = await startPenstock({
    providers: { providers: [acme], fallbacks: { 'acme/chat': ['acme/other'] } },
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

const GIVEN = JSON.stringify({ format: 'markdown', title: 'A', content: 'Text' });
const details = [{ type: 'reasoning.encrypted', data: 'b+/=', id: 'tool_1', format: 'maker-v1', index: 0 }];
const signed = { extra_content: { google: { thought_signature: 'sig+/=' } } };

/** What a turn carries, as its deltas bring it and as it goes back. */
const CARRIED: [string, Record<string, unknown>[], Record<string, unknown>][] = [
  [
    'reasoning_content in pieces',
    [{ reasoning_content: 'I ' }, { reasoning_content: 'I think' }],
    { reasoning_content: 'I I think' },
  ],
  ['reasoning', [{ reasoning: 'so' }, { reasoning: ' it is' }], { reasoning: 'so it is' }],
  ['reasoning_details', [{ reasoning_details: details }], { reasoning_details: details }],
  [
    'details that come in pieces',
    [
      { reasoning_details: [{ type: 'reasoning.text', text: 'a', index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.text', text: 'b', index: 0, signature: 's' }] },
    ],
    { reasoning_details: [{ type: 'reasoning.text', text: 'ab', index: 0, signature: 's' }] },
  ],
  [
    'thinking blocks',
    [{ thinking_blocks: [{ type: 'thinking', thinking: 'a', signature: 's' }] }],
    { thinking_blocks: [{ type: 'thinking', thinking: 'a', signature: 's' }] },
  ],
  ['extra_content', [signed], signed],
  [
    'a field that nobody knows',
    [{ z_maker: { b: [1, { c: null }], a: 'x' } }],
    { z_maker: { b: [1, { c: null }], a: 'x' } },
  ],
];

test.each(CARRIED)(
  'an agent gives a maker back what its turn carries: %s',
  async (_what, deltas, carried) => {
    const call = {
      index: 0,
      id: 'tool_1',
      type: 'function',
      function: { name: 'create_document', arguments: GIVEN },
    };
    upstream.queue(
      {
        chunks: [
          chunk({ role: 'assistant', content: '' }),
          ...deltas.map((delta) => chunk(delta)),
          chunk({ tool_calls: [{ ...call, ...signed, function: { ...call.function, seal: 'f' } }] }),
          chunk({}, { finish_reason: 'tool_calls' }),
          DONE_EVENT,
        ],
      },
      { body: completion('Done.') },
    );
    const before = upstream.requests.length;
    const id = await makeAgent(penstock, key, { model: 'acme/chat', tools: ['create_document'] });
    const run = await runAgent(penstock, key, id, { input: 'Write' });
    expect(run.last).toMatchObject({ type: 'done', output: 'Done.' });
    const messages = upstream.requests[before + 1]?.body['messages'] as Record<string, unknown>[];
    const { tool_calls: calls, role: _role, content: _content, ...rest } = messages.at(-2)!;
    expect(JSON.stringify(rest)).toBe(JSON.stringify(carried));
    expect(calls).toEqual([
      {
        id: 'tool_1',
        type: 'function',
        function: { name: 'create_document', arguments: GIVEN, seal: 'f' },
        ...signed,
      },
    ]);
    expect(messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'tool_1' });
  },
);

const turn = {
  chunks: [
    chunk({ reasoning_content: 'hm' }),
    chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'create_document', arguments: GIVEN } }] }),
    chunk({}, { finish_reason: 'tool_calls' }),
    DONE_EVENT,
  ],
};

test('a fallback gets nothing that another model’s turn carries', async () => {
  upstream.queue(turn, { status: 503 }, { body: completion('Done.') });
  const before = upstream.requests.length;
  const id = await makeAgent(penstock, key, { model: 'acme/chat', tools: ['create_document'] });
  expect((await runAgent(penstock, key, id, { input: 'Write' })).last).toMatchObject({ type: 'done' });
  const [, own, other] = upstream.requests.slice(before);
  expect(own?.body['model']).toBe('chat');
  expect(JSON.stringify(own?.body)).toContain('reasoning_content');
  expect(other?.body['model']).toBe('other');
  expect(JSON.stringify(other?.body)).not.toContain('reasoning_content');
});

test('a maker that refuses what its turn carries is asked once more without it, and never again', async () => {
  upstream.always(({ body }) => {
    const text = JSON.stringify(body['messages']);
    if (text.includes('reasoning_content'))
      return {
        status: 422,
        body: {
          detail: [
            { loc: ['body', 'messages', 2, 'reasoning_content'], msg: 'Extra inputs are not permitted' },
          ],
        },
      };
    return text.includes('"tool"') ? { body: completion('Done.') } : turn;
  });
  const before = upstream.requests.length;
  const id = await makeAgent(penstock, key, { model: 'acme/picky', tools: ['create_document'] });
  for (const asked of [3, 5]) {
    expect((await runAgent(penstock, key, id, { input: 'Write' })).last).toMatchObject({ type: 'done' });
    expect(upstream.requests.length - before).toBe(asked);
  }
});

test('chat gives a maker what its client sends back, in message and call', async () => {
  const assistant = {
    role: 'assistant',
    content: null,
    reasoning_content: 'hm',
    reasoning_details: details,
    z_maker: { a: 1 },
    tool_calls: [{ id: 'tool_1', type: 'function', function: { name: 'f', arguments: '{}' }, ...signed }],
  };
  const messages = [
    { role: 'user', content: 'Hi' },
    assistant,
    { role: 'tool', tool_call_id: 'tool_1', content: '1' },
  ];
  for (const stream of [false, true]) {
    upstream.queue({ body: completion('Done.') });
    await penstock.rest('POST', '/chat/completions', {
      key,
      body: { model: 'acme/other', messages, stream },
    });
    expect(upstream.requests.at(-1)?.body['messages']).toEqual(messages);
  }
});

test('GraphQL gives a maker back what a message and its calls carry, as it came', async () => {
  upstream.queue({ body: completion('Yes') });
  const carried = { reasoning_content: 'I think', reasoning_details: details, ...signed };
  const calls = [{ id: 'tool_1', type: 'function', function: { name: 'f', arguments: '{}' }, ...signed }];
  const input = {
    model: 'acme/other',
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: null,
        toolCalls: calls,
        reasoningContent: carried.reasoning_content,
        reasoningDetails: details,
        extraContent: signed.extra_content,
      },
      { role: 'tool', toolCallId: 'tool_1', content: '1' },
    ],
  };
  const query =
    'mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) { choices { message { content } } } }';
  const { errors } = await penstock.graphql(query, { key, variables: { input } });
  expect(errors).toEqual([]);
  const sent = upstream.requests.at(-1)!.body['messages'] as unknown[];
  expect(sent[1]).toEqual({ role: 'assistant', content: null, tool_calls: calls, ...carried });
});
