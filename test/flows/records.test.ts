import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chunk, completion, DONE_EVENT, event, type Reply } from '../support/fake-upstream.js';
import { classes, startRecorded, USUAL, type Recorded, type Row } from '../support/records.js';
import { nativeMessage, nativeStream, textBlock, textOf } from '../v1/native-messages.js';
import { nativeEvents, nativeResponse } from '../v1/native-responses.js';

let recorded: Recorded;
beforeAll(async () => {
  recorded = await startRecorded();
});
afterAll(() => recorded?.close());
beforeEach(() => recorded.renew());

const v1: Recorded['v1'] = (path, body) => recorded.v1(path, body);
const chat = (more: object = {}) =>
  v1('/chat/completions', { model: 'acme/chat', messages: [{ role: 'user', content: 'Hi' }], ...more });
const respond = (more: object) => v1('/responses', { model: 'acme/chat', input: 'Hi', ...more });
const message = (more: object) =>
  v1('/messages', {
    model: 'acme/chat',
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Hi' }],
    ...more,
  });

const { tokens: _, costNano: __, ...answered } = USUAL;
const PLAIN = USUAL;
const failed: Partial<Row> = { status: 'failed', provider: null, answeredModel: null, upstreamId: null };

const DETAILS = {
  prompt_tokens: 100,
  completion_tokens: 50,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 40 },
  completion_tokens_details: { reasoning_tokens: 20 },
};
const DETAILED = {
  ...answered,
  tokens: classes(100, 50, { cachedInput: 40, reasoning: 20 }),
  costNano: '1042000',
};
const streamed = (...pieces: string[]): Reply => ({ chunks: [...pieces, DONE_EVENT] });
const told = (usage: object): Reply => ({ body: completion('Hello', { usage }) });
const search = { tools: [{ type: 'web_search' }] };
const asksSearch = () =>
  completion('', {
    id: 'chatcmpl-first',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'web_search', arguments: '{"query":"tide"}' } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
  });

/** What is asked, what the upstream replies, and what the record says. */
const PATHS: [name: string, replies: Reply[], act: () => Promise<unknown>, record: Partial<Row>][] = [
  ['a whole chat', [], () => chat(), { ...PLAIN, firstTokenMs: null }],
  ['a streamed chat', [], () => chat({ stream: true }), { ...PLAIN, firstTokenMs: expect.any(Number) }],
  ['cached and reasoned tokens', [told(DETAILS)], () => chat(), DETAILED],
  [
    'the same of a stream',
    [streamed(chunk({ content: 'Hello' }), chunk({}, { finish_reason: 'stop', usage: DETAILS }))],
    () => chat({ stream: true }),
    DETAILED,
  ],
  [
    'hits of a cache as another maker spells them',
    [told({ prompt_tokens: 100, completion_tokens: 5, prompt_cache_hit_tokens: 40 })],
    () => chat(),
    { ...answered, tokens: classes(100, 5, { cachedInput: 40 }), costNano: '267000' },
  ],
  [
    'thoughts and a cache as a third maker spells them',
    [
      {
        body: completion('Hello', {
          usage: undefined,
          usageMetadata: {
            promptTokenCount: 100,
            cachedContentTokenCount: 40,
            candidatesTokenCount: 5,
            thoughtsTokenCount: 7,
            totalTokenCount: 112,
          },
        }),
      },
    ],
    () => chat(),
    { ...answered, tokens: classes(100, 12, { cachedInput: 40, reasoning: 7 }), costNano: '407000' },
  ],
  [
    'reasoning that is in the total only',
    [told({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 35 })],
    () => chat(),
    { ...answered, tokens: classes(10, 25), costNano: '405000' },
  ],
  ['completions', [], () => v1('/completions', { model: 'acme/chat', prompt: 'Hi' }), PLAIN],
  ['a response over chat', [], () => respond({}), PLAIN],
  [
    'a streamed response over chat',
    [],
    () => respond({ stream: true }),
    { ...PLAIN, firstTokenMs: expect.any(Number) },
  ],
  ['a message over chat', [], () => message({}), PLAIN],
  ['a streamed message over chat', [], () => message({ stream: true }), PLAIN],
  ...(['whole', 'streamed'] as const).flatMap((how): typeof PATHS => {
    const stream = how === 'streamed';
    const nat = {
      ...answered,
      provider: 'nat',
      answeredModel: 'nat/chat',
      costVersion: 'nat/chat@2020-01-01',
    };
    return [
      [
        `a ${how} response of an upstream that speaks the dialect`,
        [stream ? { chunks: nativeEvents(['Hel', 'lo']) } : { body: nativeResponse('Hello') }],
        () => respond({ model: 'nat/chat', stream }),
        {
          ...nat,
          upstreamId: 'resp_upstream',
          tokens: classes(10, 5, { cachedInput: 4, reasoning: 2 }),
          costNano: '104200',
        },
      ],
      [
        `a ${how} message of an upstream that speaks the dialect`,
        [
          stream
            ? { chunks: nativeStream([textOf('Hel', 'lo')]) }
            : { body: nativeMessage([textBlock('Hello')]) },
        ],
        () => message({ model: 'nat/chat', stream }),
        {
          ...nat,
          upstreamId: 'msg_upstream',
          tokens: classes(17, 5, { cachedInput: 4, cacheWrite: 3 }),
          costNano: '117450',
        },
      ],
    ];
  }),
  ['a call that was tried again', [{ status: 500 }], () => chat(), PLAIN],
  [
    'a call that fell back',
    [{ status: 500 }, { status: 500 }],
    () => chat(),
    {
      ...PLAIN,
      provider: 'spare',
      answeredModel: 'spare/chat',
      costNano: '20000',
      costVersion: 'spare/chat@start',
    },
  ],
  [
    'a call that fell back from an upstream that told its usage',
    [
      { status: 500 },
      {
        chunks: [
          event({ id: 'chatcmpl-lost', choices: [], usage: { prompt_tokens: 20, completion_tokens: 1 } }),
        ],
        then: 'reset',
      },
    ],
    () => chat({ stream: true }),
    {
      provider: 'spare',
      upstreamId: 'chatcmpl-lost chatcmpl-up1',
      tokens: classes(30, 6),
      costNano: '95000',
    },
  ],
  [
    'a call that all of its upstreams refuse',
    [{ status: 500 }, { status: 500 }],
    () => chat({ model: 'acme/alone' }),
    { ...failed, errorCode: 'server_error', costNano: '0', costVersion: null, tokens: null },
  ],
  [
    'a call that its upstream rejects',
    [{ status: 400, body: { error: { message: 'no' } } }],
    () => chat({ model: 'acme/alone' }),
    { ...failed, errorCode: 'invalid_request', costNano: '0' },
  ],
  [
    'a model without a price',
    [],
    () => chat({ model: 'acme/unpriced' }),
    { ...PLAIN, answeredModel: 'acme/unpriced', costNano: null, costVersion: null },
  ],
  [
    'a stream that broke off',
    [{ chunks: [chunk({ content: 'Hello there' })], then: 'reset' }],
    () => chat({ model: 'acme/alone', stream: true }),
    {
      ...answered,
      status: 'failed',
      errorCode: 'server_error',
      answeredModel: 'acme/alone',
      costVersion: 'acme/alone@2020-01-01',
      tokens: classes(8, 2),
      costNano: '54000',
    },
  ],
  [
    'a response that broke off',
    [{ chunks: [chunk({ content: 'Hello there' })], then: 'reset' }],
    () => respond({ model: 'acme/alone', stream: true }),
    { status: 'failed', errorCode: 'server_error', tokens: classes(8, 2), costNano: '54000' },
  ],
  [
    'a message of its own dialect that broke off',
    [{ chunks: nativeStream([textOf('Hello there')]).slice(0, 4), then: 'reset' }],
    () => message({ model: 'nat/chat', stream: true }),
    {
      status: 'failed',
      errorCode: 'server_error',
      upstreamId: 'msg_upstream',
      tokens: classes(17, 2, { cachedInput: 4, cacheWrite: 3 }),
      costNano: '72450',
    },
  ],
  [
    'embeddings',
    [{ body: { data: [{ embedding: [1, 2] }], usage: { prompt_tokens: 7, total_tokens: 7 } } }],
    () => v1('/embeddings', { model: 'acme/embed', input: 'Hi' }),
    { status: 'succeeded', answeredModel: 'acme/embed', tokens: classes(7, 0), costNano: '140' },
  ],
  [
    'a rerank',
    [{ body: { id: 'rank-1', results: [{ index: 0, relevance_score: 1 }] } }],
    () => v1('/rerank', { model: 'acme/rank', query: 'Hi', documents: ['Ho'] }),
    {
      status: 'succeeded',
      answeredModel: 'acme/rank',
      upstreamId: 'rank-1',
      tokens: null,
      costNano: '2000000',
    },
  ],
  [
    'two rounds that cost less than half a nano-dollar each, rounded once',
    [{ body: asksSearch() }, { body: { results: [] } }, {}],
    () => respond({ ...search, model: 'acme/cheap' }),
    { answeredModel: 'acme/cheap', tokens: classes(20, 10), costNano: '1', costVersion: 'acme/cheap@start' },
  ],
  [
    'two rounds of a response that searched',
    [{ body: asksSearch() }, { body: { results: [] } }, {}],
    () => respond(search),
    { ...answered, upstreamId: 'chatcmpl-first chatcmpl-up1', tokens: classes(20, 10), costNano: '210000' },
  ],
];

describe('the record of an operation', () => {
  it.each(PATHS)('tells what it cost: %s', async (_, replies, act, record) => {
    recorded.upstream.queue(...replies.filter((reply) => Object.keys(reply).length > 0));
    await act().catch(() => undefined);
    const found = await recorded.records();
    expect(found.find(({ kind }) => kind !== 'agent_tool')).toMatchObject(record);
  });
});
