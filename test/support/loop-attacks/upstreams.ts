import { chunk, completion, DONE_EVENT, event, type Reply } from '../fake-upstream.js';
import { spacedBase64 } from '../hostile-texts.js';
import { graphql } from './graphql.js';
import { MB, rest, type Attack, type Attacker, type Body, type Told } from './attack.js';

const ask = (model: string, more: Body = {}): Body => ({
  model: `acme/${model}`,
  messages: [{ role: 'user', content: 'Hi' }],
  ...more,
});

/** A call with this answer of the upstream. The call may fail. */
const answered =
  (reply: () => Reply, send: Attack['send']) =>
  async (attacker: Attacker): Promise<Told> => {
    // No queue of replies: a refused call is repeated, and would take another call's reply.
    attacker.upstream.always(reply());
    const { status, error } = await send(attacker);
    attacker.upstream.requests.length = 0;
    return { status: status === 502 || error === 'Generation failed' ? 200 : status, error };
  };

const tool = { type: 'function', function: { name: 'a', parameters: {} } };
const call = (given: string) => ({
  tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'a', arguments: given } }],
});
const answer = (message: Body): Body => ({
  ...completion(''),
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' }],
});
const list = <Item>(count: number, item: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => item(at));

const CHAT_ANSWERS: readonly (readonly [string, () => Reply])[] = [
  ['a text of 40 MB', () => ({ body: completion('a'.repeat(40 * MB)) })],
  ['a text of 3 MB of words', () => ({ body: completion('one word '.repeat(340_000)) })],
  ['a text of 3 MB of é', () => ({ body: completion('é '.repeat(1_000_000)) })],
  ['a text of escapes', () => ({ body: completion('\u0001"\n'.repeat(1_000_000)) })],
  ['arguments of 10 MB', () => ({ body: answer(call(JSON.stringify({ a: 'a '.repeat(5 * MB) }))) })],
  [
    'arguments that are an object of 100,000',
    () => ({
      body: answer({
        tool_calls: [{ id: 'a', function: { name: 'a', arguments: list(100_000, (at) => ({ at })) } }],
      }),
    }),
  ],
  [
    '100,000 calls',
    () => ({
      body: answer({
        tool_calls: list(100_000, (at) => ({
          id: `c${at}`,
          type: 'function',
          function: { name: 'a', arguments: '{}' },
        })),
      }),
    }),
  ],
  [
    'a field of 500,000 objects',
    () => ({ body: answer({ content: 'a', extra: list(500_000, (at) => ({ at })) }) }),
  ],
  [
    '100,000 choices',
    () => ({
      body: {
        ...completion(''),
        choices: list(100_000, (index) => ({
          index,
          message: { role: 'assistant', content: 'a' },
          finish_reason: 'stop',
        })),
      },
    }),
  ],
  ['no JSON of 40 MB', () => ({ body: `{"a":"${'a'.repeat(40 * MB)}` })],
  ['a refusal of 10 MB', () => ({ status: 400, body: { error: { message: 'a '.repeat(5 * MB) } } })],
];

const ended = (...chunks: string[]): Reply => ({
  chunks: [...chunks, chunk({}, { finish_reason: 'stop' }), DONE_EVENT],
});

const STREAMS: readonly (readonly [string, () => Reply])[] = [
  ['a line of 10 MB', () => ended(chunk({ content: 'a '.repeat(5 * MB) }))],
  ['a line of 10 MB that says nothing', () => ended(`: ${'a'.repeat(10 * MB)}\n\n`, chunk({ content: 'a' }))],
  ['a line without an end', () => ({ chunks: list(1200, () => 'data: '.padEnd(65_536, 'a')) })],
  ['lines of an event, 1,000,000', () => ended(`${'data: \n'.repeat(1_000_000)}\n`, chunk({ content: 'a' }))],
  ['100,000 events at once', () => ended(chunk({ content: 'a ' }).repeat(100_000))],
  ['1,000,000 empty events', () => ended('data:\n\n'.repeat(1_000_000), chunk({ content: 'a' }))],
  [
    'arguments of 10 MB in pieces',
    () =>
      ended(chunk(call('{"a":"')), ...list(160, () => chunk(call('a '.repeat(32_768)))), chunk(call('"}'))),
  ],
  [
    'arguments of 5 MB in 100,000 pieces',
    () =>
      ended(
        list(100_000, () =>
          chunk({ tool_calls: [{ index: 0, function: { arguments: 'a '.repeat(25) } }] }),
        ).join(''),
      ),
  ],
  [
    '5,000 calls',
    () =>
      ended(
        list(5000, (index) =>
          chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'a', arguments: '{}' } }] }),
        ).join(''),
      ),
  ],
  [
    'a name in 100,000 pieces',
    () => ended(list(100_000, () => chunk({ tool_calls: [{ index: 0, function: { name: 'a' } }] })).join('')),
  ],
  [
    'an event of 100,000 choices',
    () => ended(event({ id: 'a', choices: list(100_000, (index) => ({ index, delta: { content: 'a' } })) })),
  ],
  ['a whole answer of 40 MB', () => ({ body: completion('a'.repeat(40 * MB)) })],
];

const chatAnswers = (): Attack[] => [
  ...CHAT_ANSWERS.map(([form, reply]) => ({
    field: 'upstream chat answer',
    form,
    send: answered(reply, rest('POST', '/chat/completions', ask('chat', { tools: [tool] }))),
  })),
  ...CHAT_ANSWERS.map(([form, reply]) => ({
    field: 'upstream chat answer over GraphQL',
    form,
    send: answered(
      reply,
      graphql(
        'mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) { id choices { message { content toolCalls } } } }',
        {
          input: ask('chat'),
        },
      ),
    ),
  })),
  ...STREAMS.map(([form, reply]) => ({
    field: 'upstream stream',
    form,
    send: answered(reply, rest('POST', '/chat/completions', ask('chat', { stream: true, tools: [tool] }))),
  })),
  ...STREAMS.map(([form, reply]) => ({
    field: 'upstream stream for a whole answer',
    form,
    send: answered(reply, rest('POST', '/chat/completions', ask('chat', { tools: [tool] }))),
  })),
  ...[...STREAMS.slice(0, 1), ...STREAMS.slice(4, 10)].map(([form, reply]) => ({
    field: 'upstream stream of a run',
    form,
    send: answered(reply, (attacker) =>
      rest('POST', `/agents/${attacker.acmeAgentId}/run`, { input: 'Hi' })(attacker),
    ),
  })),
];

const picture = (length: number) => spacedBase64(length)[2]!.value;
const url = (data: string) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } });
const plain = (length: number) => `iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ${'A'.repeat(length)}`;

/** Long values that are sent to an upstream. */
const requests = (): Attack[] =>
  (
    [
      ['3 MB of words', () => [{ role: 'user', content: 'one word '.repeat(340_000) }]],
      ['2 MB of what is escaped', () => [{ role: 'user', content: '\n'.repeat(1_000_000) }]],
      ['a picture of 20 MB', () => [{ role: 'user', content: [url(plain(26_000_000))] }]],
      ['a picture of 14 MB in lines', () => [{ role: 'user', content: [url(picture(18_000_000))] }]],
      ['1,000 pictures', () => [{ role: 'user', content: list(1000, () => url(plain(20_000))) }]],
      ['60 pictures of 500 KB', () => [{ role: 'user', content: list(60, () => url(plain(500_000))) }]],
      ['60,000 parts', () => [{ role: 'user', content: list(60_000, () => ({ type: 'text', text: 'a' })) }]],
      ['90,000 messages', () => list(90_000, () => ({ role: 'user', content: 'a' }))],
      [
        'arguments of 3 MB',
        () => [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: null, ...call('a '.repeat(1_500_000)) },
          { role: 'tool', tool_call_id: 'a', content: 'b' },
        ],
      ],
      [
        'a result of 3 MB',
        () => [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: null, ...call('{}') },
          { role: 'tool', tool_call_id: 'a', content: 'b '.repeat(1_500_000) },
        ],
      ],
    ] as const
  ).flatMap(([form, messages]) => [
    {
      field: 'chat for an upstream',
      form,
      send: answered(
        () => ({ body: completion('a') }),
        (attacker) =>
          rest('POST', '/chat/completions', { model: 'acme/wide', messages: messages() })(attacker),
      ),
    },
    {
      field: 'chat stream for an upstream',
      form,
      send: answered(
        () => ended(chunk({ content: 'a' })),
        (attacker) =>
          rest('POST', '/chat/completions', { model: 'acme/wide', messages: messages(), stream: true })(
            attacker,
          ),
      ),
    },
  ]);

const vectors = (count: number, size: number, base64 = false): Reply => {
  const vector = Array.from({ length: size }, (_, at) => Math.sin(at));
  const embedding = base64 ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector;
  return {
    body: {
      object: 'list',
      data: list(count, (index) => ({ index, embedding })),
      usage: { prompt_tokens: 1 },
    },
  };
};

const segments = (count: number) =>
  list(count, (at) => ({ id: at, start: at, end: at + 1, text: 'one word ' }));
const spoken = (count: number): Reply => ({
  body: {
    text: 'one word '.repeat(count),
    language: 'en',
    duration: count,
    segments: segments(count),
    words: list(count, (at) => ({ word: 'word', start: at, end: at + 0.5 })),
  },
});
const sound = (): string => {
  const bytes = Buffer.alloc(44 + 32_000);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(16_000, 24);
  bytes.writeUInt32LE(32_000, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(32_000, 40);
  return bytes.toString('base64');
};

const otherAnswers = (): Attack[] => [
  ...(
    [
      ['2,048 of 1,536', () => vectors(2048, 1536)],
      ['2,048 of 1,536, base64', () => vectors(2048, 1536, true)],
      ['no JSON of 40 MB', () => ({ body: `{"a":"${'a'.repeat(40 * MB)}` })],
    ] as const
  ).map(([form, reply]) => ({
    field: 'upstream embeddings',
    form,
    send: answered(
      reply,
      rest('POST', '/embeddings', { model: 'acme/embed', input: list(2048, (at) => `text ${at}`) }),
    ),
  })),
  ...(['json', 'verbose_json', 'srt', 'vtt', 'text'] as const).flatMap((format) =>
    [2_000, 100_000].map((count) => ({
      field: 'upstream transcription',
      form: `${count} segments as ${format}`,
      send: answered(
        () => spoken(count),
        rest('POST', '/audio/transcriptions', {
          model: 'acme/hear',
          file: sound(),
          response_format: format,
          ...(format === 'verbose_json' ? { timestamp_granularities: ['word'] } : {}),
        }),
      ),
    })),
  ),
  {
    field: 'upstream picture',
    form: 'base64 of 40 MB',
    send: answered(
      () => ({ body: { data: [{ b64_json: plain(40 * MB) }] } }),
      rest('POST', '/images/generations', { model: 'acme/draw', prompt: 'a' }),
    ),
  },
  {
    field: 'upstream picture',
    form: '10,000 pictures',
    send: answered(
      () => ({ body: { data: list(10_000, () => ({ b64_json: plain(1000) })) } }),
      rest('POST', '/images/generations', { model: 'acme/draw', prompt: 'a' }),
    ),
  },
];

/** Calls that are sent to an upstream, and its answers. */
export const upstreamAttacks = (): Attack[] => [...requests(), ...chatAnswers(), ...otherAnswers()];

/** The upstream's models, in the form of PROVIDERS_FILE. */
export const acme = (baseUrl: string): object => ({
  id: 'acme',
  kind: 'openai-compatible',
  baseUrl,
  retry: { retries: 0, backoffMs: 1 },
  models: [
    { id: 'acme/chat', upstreamId: 'chat', type: 'chat', tier: 'basic' },
    { id: 'acme/wide', upstreamId: 'wide', type: 'chat', tier: 'basic', contextWindow: 100_000_000 },
    { id: 'acme/embed', upstreamId: 'embed', type: 'embedding', tier: 'basic' },
    { id: 'acme/hear', upstreamId: 'hear', type: 'stt', tier: 'fast' },
    { id: 'acme/draw', upstreamId: 'draw', type: 'image', tier: 'basic' },
  ],
});
