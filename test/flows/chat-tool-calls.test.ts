import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chunk, completion, DONE_EVENT, startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let upstream: FakeUpstream;
let penstock: TestServer;
let key: string;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const model = { id: 'acme/chat', upstreamId: 'chat', type: 'chat', tier: 'basic' };
  const acme = { id: 'acme', kind: 'openai-compatible', baseUrl: upstream.baseUrl, apiKey: 'sk-acme' };
  penstock = await startPenstock({ providers: { providers: [{ ...acme, models: [model] }] } });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

type Part = Record<string, unknown>;

const body = { model: 'acme/chat', messages: [{ role: 'user' as const, content: 'Weather?' }] };
const whole = (name: string, given: unknown, more: Part = {}): Part => ({
  function: { name, arguments: given },
  id: '',
  type: 'function',
  ...more,
});
const rest = (text: string | null, more: Part = {}): Part => ({ function: { arguments: text }, ...more });
const chunksOf = (parts: Part[][]): string[] => [
  ...parts.map((calls) => chunk({ tool_calls: calls })),
  chunk({}, { finish_reason: 'tool_calls' }),
  DONE_EVENT,
];

/** The calls as the convention's own client puts them together. */
async function streamed(parts: Part[][]) {
  upstream.queue({ chunks: chunksOf(parts) });
  const client = new OpenAI({ apiKey: key, baseURL: `${penstock.origin}/api/v1`, maxRetries: 0 });
  const { choices } = await client.chat.completions.stream(body).finalChatCompletion();
  return choices[0]?.message.tool_calls ?? [];
}

const call = (name: string, given: string, id: unknown = expect.stringMatching(/^call_./)) => ({
  id,
  type: 'function',
  function: expect.objectContaining({ name, arguments: given }) as unknown,
});

test.each<[string, Part[][], unknown[]]>([
  ['no index and no id', [[whole('a', '{"x":1}')]], [call('a', '{"x":1}')]],
  [
    'no index for calls side by side and one after the other',
    [[whole('a', '{}'), whole('b', '{}')], [whole('a', '{"x":1}')]],
    [call('a', '{}'), call('b', '{}'), call('a', '{"x":1}')],
  ],
  [
    'no index for parts of a call',
    [[whole('a', '', { id: 'c1' })], [rest('{"x"')], [rest(':1}')], [whole('b', '{}', { id: 'c2' })]],
    [call('a', '{"x":1}', 'c1'), call('b', '{}', 'c2')],
  ],
  [
    'no index and one id for all',
    [
      [whole('a', '{"x":1}', { id: 'null' }), whole('b', '{"x":2}', { id: 'null' })],
      [whole('c', '{"x"', { id: 'null' })],
      [whole('c', ':3}', { id: 'null' })],
    ],
    [call('a', '{"x":1}', 'null'), call('b', '{"x":2}'), call('c', '{"x":3}')],
  ],
  [
    'neither id nor type',
    [[{ index: 0, function: { name: 'a', arguments: '{' } }], [rest('}', { index: 0 })]],
    [call('a', '{}')],
  ],
  [
    'arguments as an object',
    [[whole('a', { x: [1] }, { index: 0, id: 'c1' })]],
    [call('a', '{"x":[1]}', 'c1')],
  ],
  [
    'index 0 for each call',
    [
      [whole('a', '{', { index: 0, id: 'c1' })],
      [rest('}', { index: 0 })],
      [whole('b', '{"x"', { index: 0, id: 'c2' })],
      [rest(':1}', { index: 0 })],
      [whole('c', '{}', { index: 1, id: 'c3' })],
    ],
    [call('a', '{}', 'c1'), call('b', '{"x":1}', 'c2'), call('c', '{}', 'c3')],
  ],
  [
    'other ids in the parts of a call',
    [[whole('a', '{', { index: 0, id: 'c1' })], [rest('}', { index: 0, id: 'c9', type: 'function' })]],
    [call('a', '{}', expect.any(String))],
  ],
])(
  'a streamed tool call reaches the convention’s clients from an upstream with %s',
  async (_what, parts, calls) => {
    expect(await streamed(parts)).toEqual(calls);
  },
);

/** The calls of each chunk as they are written. */
async function written(parts: Part[][]): Promise<unknown[]> {
  upstream.queue({ chunks: chunksOf(parts) });
  const stream = { key, body: { ...body, stream: true } };
  const { events } = await penstock.events('POST', '/chat/completions', stream);
  const seen: unknown[] = [];
  for await (const { data } of events)
    if (data !== '[DONE]') {
      const { choices } = JSON.parse(data) as { choices: { delta: { tool_calls?: unknown } }[] };
      if (choices[0]?.delta.tool_calls) seen.push(choices[0].delta.tool_calls);
    }
  return seen;
}

test('streamed tool calls that are as the convention has them pass as they came', async () => {
  const parts = [
    [{ ...whole('a', '', { index: 0, id: 'c1' }), extra_content: { google: { thought_signature: 's' } } }],
    [rest('{}', { index: 0 })],
    [whole('b', '{}', { index: 1, id: 'c2' })],
  ];
  expect(await written(parts)).toEqual(parts);
});

test('the arguments of a streamed tool call are a string in every part that has them', async () => {
  const parts = [[whole('a', null, { index: 0, id: 'c1' })], [rest(null)], [rest('{}', { index: 0 })]];
  expect(await written(parts)).toEqual([
    [whole('a', '', { index: 0, id: 'c1' })],
    [rest('', { index: 0 })],
    [rest('{}', { index: 0 })],
  ]);
});

test('a whole answer’s tool calls have an id, a type and arguments as text, and are counted', async () => {
  const given = [
    { function: { name: 'a', arguments: { x: 1 } } },
    { ...whole('b', null), id: null },
    whole('c', '{}', { id: 'c3' }),
  ];
  const message = { role: 'assistant', content: null, tool_calls: given };
  upstream.queue({
    body: completion('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage: null }),
  });
  const answer = await penstock.rest<{
    choices: { message: { tool_calls: { id: string }[] } }[];
    usage: { completion_tokens: number };
  }>('POST', '/chat/completions', { key, body });
  const calls = answer.body.choices[0]!.message.tool_calls;
  expect(calls).toEqual([call('a', '{"x":1}'), call('b', ''), call('c', '{}', 'c3')]);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
  expect(answer.body.usage.completion_tokens).toBeGreaterThan(5);
});
