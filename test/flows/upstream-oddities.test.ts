import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { chunk, completion, DONE_EVENT, event, startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream, Reply } from '../support/fake-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let upstream: FakeUpstream;
let penstock: TestServer;
let client: OpenAI;
let key: string;
let agent: string;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const acme = {
    id: 'acme',
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    retry: { retries: 0, backoffMs: 1 },
    models: ['chat', 'spare'].map((name) => ({
      id: `acme/${name}`,
      upstreamId: name,
      type: 'chat',
      tier: 'basic',
    })),
  };
  penstock = await startPenstock({
    providers: { providers: [acme], fallbacks: { 'acme/chat': ['acme/spare'] } },
    plans: {
      plans: { business_monthly: { rate: { rpm: 6000, burst: 6000 }, limits: { credits: 100_000 } } },
      endpointLimits: { chat: { limit: 5000, windowSeconds: 60 } },
    },
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
  client = new OpenAI({ apiKey: key, baseURL: `${penstock.origin}/api/v1`, maxRetries: 0 });
  agent = await makeAgent(penstock, key, { model: 'acme/chat', tools: ['create_document'] });
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

const TOOLS = ['get_weather', 'go', 'haha', 'go_on'].map((name) => ({
  type: 'function' as const,
  function: { name },
}));
const body = { model: 'acme/chat', messages: [{ role: 'user' as const, content: 'Hi' }], tools: TOOLS };

interface Said {
  content: string | null;
  calls: { id: string; name: string; arguments: string }[];
  finish: string | null;
  tokens: number[];
}

type Whole = OpenAI.Chat.Completions.ChatCompletion;

function saidIn({ choices, usage }: Whole): Said {
  const [choice] = choices;
  return {
    content: choice!.message.content,
    calls: (choice!.message.tool_calls ?? []).map((call) => {
      const { name, arguments: given } = (call as { function: { name: string; arguments: string } }).function;
      return { id: call.id, name, arguments: given };
    }),
    finish: choice!.finish_reason,
    tokens: [usage!.prompt_tokens, usage!.completion_tokens, usage!.total_tokens],
  };
}

/** By the convention's own client, each way. */
const WAYS: Record<string, (reply: Reply) => Promise<Said>> = {
  async streamed(reply) {
    upstream.queue(reply);
    const stream = client.chat.completions.stream(body);
    return saidIn(await stream.finalChatCompletion());
  },
  async whole(reply) {
    upstream.queue(reply);
    return saidIn(await client.chat.completions.create(body));
  },
};

/** What clients do that join all they are told. */
async function joined(reply: Reply): Promise<string> {
  upstream.queue(reply);
  let text = '';
  for await (const part of await client.chat.completions.create({ ...body, stream: true }))
    for (const call of part.choices[0]?.delta.tool_calls ?? [])
      text += `${call.id ?? ''}${call.type ?? ''}${call.function?.name ?? ''}${call.function?.arguments ?? ''}`;
  return text;
}

const finish = (reason: unknown = 'stop') => chunk({}, { finish_reason: reason });
const words = [
  chunk({ role: 'assistant', content: 'one' }),
  chunk({ content: ' two' }),
  chunk({ content: ' three' }),
];
const usage = (more: object = {}) => ({ prompt_tokens: 20, completion_tokens: 7, total_tokens: 27, ...more });

const SILENT = [
  'data: null',
  'data:',
  'data: ',
  'data: {}',
  'data: []',
  'data: ""',
  'data: \t',
  ': a comment',
  'event: keepalive\ndata: {}',
  'event: unknown\ndata: {"x":1}',
  'data: {"choices":[]}',
  'data: {"choices":null}',
  'data: {"choices":[null]}',
  'data: {"type":"ping"}',
  'data: {"object":"keep-alive"}',
  'data: true',
  'data: 0',
  'data: keep-alive',
  'data: {"usage":null}',
  'data: \ufeff{}',
  'id: 7',
  'retry: 10',
].map((text) => `${text}\n\n`);

describe.each(Object.keys(WAYS))('an answer that is %s', (way) => {
  const ask = WAYS[way]!;

  test.each(SILENT)('is whole where an event says nothing: %j', async (silent) => {
    const whole = [...words, finish(), event({ choices: [], usage: usage() }), DONE_EVENT];
    for (let at = 0; at < whole.length; at++) {
      const chunks = [...whole.slice(0, at), silent, ...whole.slice(at)];
      expect(await ask({ chunks })).toEqual({
        content: 'one two three',
        calls: [],
        finish: 'stop',
        tokens: [20, 7, 27],
      });
    }
  });

  test.each([1, 2, 5, 13, 64])('is whole where the network cuts it every %i bytes', async (size) => {
    const bytes = Buffer.from(
      [
        '\ufeff',
        SILENT.join(''),
        ...words,
        chunk({ content: ' – grüße 😀' }),
        finish('MAX_TOKENS'),
        DONE_EVENT,
      ].join(''),
    );
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    expect(await ask({ chunks })).toMatchObject({ content: 'one two three – grüße 😀', finish: 'length' });
  });

  const places: [string, object, number[]][] = [
    ['usage', { usage: usage() }, [20, 7, 27]],
    [
      'choices[0].usage',
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: usage() }] },
      [20, 7, 27],
    ],
    [
      'delta.usage',
      { choices: [{ index: 0, delta: { usage: usage() }, finish_reason: 'stop' }] },
      [20, 7, 27],
    ],
    ['message.usage', { message: { usage: usage() } }, [20, 7, 27]],
    ['x_groq.usage', { x_groq: { id: 'r', usage: usage() } }, [20, 7, 27]],
    ['x_groq.usage and usage', { x_groq: { usage: usage() }, usage: usage() }, [20, 7, 27]],
    ['input_tokens', { usage: { input_tokens: 20, output_tokens: 7 } }, [20, 7, 27]],
    [
      'cached input_tokens',
      { usage: { input_tokens: 5, cache_read_input_tokens: 15, output_tokens: 7 } },
      [20, 7, 27],
    ],
    ['promptTokens', { usage: { promptTokens: 20, completionTokens: 7 } }, [20, 7, 27]],
    [
      'usageMetadata',
      { usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 4, thoughtsTokenCount: 3 } },
      [20, 7, 27],
    ],
    ['prompt_eval_count', { prompt_eval_count: 20, eval_count: 7 }, [20, 7, 27]],
    ['counts as words', { usage: { prompt_tokens: '20', completion_tokens: '7' } }, [20, 7, 27]],
    ['a total with hidden reasoning', { usage: usage({ total_tokens: 30 }) }, [20, 7, 30]],
  ];
  test.each(places)(
    'is charged once by what its upstream tells in %s, at its end and in each chunk',
    async (_place, more, tokens) => {
      const told = (delta: object) => {
        const choices = 'choices' in more ? (more.choices as { usage?: object; delta: object }[]) : null;
        const choice = {
          ...choices?.[0],
          index: 0,
          delta: { ...choices?.[0]?.delta, ...delta },
          finish_reason: null,
        };
        return event({ id: 'a', object: 'chat.completion.chunk', created: 1, ...more, choices: [choice] });
      };
      const last = event({ id: 'a', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...more });
      for (const chunks of [
        [...words, last, DONE_EVENT],
        [
          ...['one', ' two', ' three'].map((content) => told({ content })),
          finish(),
          event({ usage: null, choices: [] }),
          DONE_EVENT,
        ],
      ]) {
        const said = await ask({ chunks });
        expect(said).toMatchObject({ content: 'one two three', tokens });
      }
    },
  );

  const FINISHES: Record<string, string[]> = {
    stop: [
      'stop',
      'STOP',
      'end_turn',
      'stop_sequence',
      'eos',
      'eos_token',
      'COMPLETE',
      'pause_turn',
      'unheard_of',
    ],
    length: [
      'length',
      'MAX_TOKENS',
      'max_tokens',
      'MaxTokens',
      'max-tokens',
      'max_output_tokens',
      'model_length',
      'model_context_window_exceeded',
    ],
    tool_calls: ['tool_calls', 'tool_use', 'tool-calls', 'TOOL_CALL', 'function_call', 'toolUse'],
    content_filter: [
      'content_filter',
      'content-filter',
      'SAFETY',
      'RECITATION',
      'PROHIBITED_CONTENT',
      'BLOCKLIST',
      'SPII',
      'refusal',
      'guardrail_intervened',
      'error_toxic',
      'content_filter: SAFETY',
    ],
  };
  const reasons = Object.entries(FINISHES).flatMap(([meant, said]) =>
    said.map((word) => [word, meant] as const),
  );
  test.each(reasons)('that ends with %s ended with %s', async (word, meant) => {
    const tool_calls = [
      { index: 0, id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{}' } },
    ];
    expect((await ask({ chunks: [...words, finish(word), DONE_EVENT] })).finish).toBe(meant);
    const called = meant === 'stop' ? 'tool_calls' : meant;
    expect((await ask({ chunks: [chunk({ tool_calls }), finish(word), DONE_EVENT] })).finish).toBe(called);
    const message = { role: 'assistant', content: null, tool_calls };
    const choices = [{ index: 0, message, finish_reason: word }];
    expect((await ask({ body: completion('', { choices }) })).finish).toBe(called);
  });

  test.each(['ERROR', 'error', 'insufficient_system_resource'])(
    'that was given up (%s) before it began is a fallback’s',
    async (word) => {
      upstream.queue({ chunks: [chunk({ role: 'assistant', content: '' }), finish(word)] });
      expect(await ask({ body: completion('Spare') })).toMatchObject({ content: 'Spare', finish: 'stop' });
    },
  );

  type Part = Record<string, unknown>;
  const part = (name: unknown, given: unknown, more: Part = {}): Part => ({
    index: 0,
    id: 'c1',
    type: 'function',
    function: { name, arguments: given },
    ...more,
  });
  const bare = (given: unknown, more: Part = {}): Part => ({
    index: 0,
    function: { arguments: given },
    ...more,
  });
  const weather = [{ id: 'c1', name: 'get_weather', arguments: '{"city":"Rome"}' }];
  const CALLS: [string, Part[], Said['calls']][] = [
    [
      'that say id and name in each',
      [part('get_weather', '{"city"'), part('get_weather', ':'), part('get_weather', '"Rome"}')],
      weather,
    ],
    [
      'that say an empty id and name',
      [part('get_weather', ''), part('', '{"city":', { id: '' }), part('', '"Rome"}', { id: '' })],
      weather,
    ],
    [
      'that say null for id and name',
      [part('get_weather', ''), part(null, '{"city":', { id: null }), part(null, '"Rome"}', { id: null })],
      weather,
    ],
    [
      'with a name in pieces',
      [part('get_', ''), bare('', { function: { name: 'weather' } }), bare('{"city":"Rome"}')],
      weather,
    ],
    [
      'with a name in pieces and its id in each',
      [part('get', ''), part('_weather', ''), part('', '{"city":"Rome"}')],
      weather,
    ],
    [
      'with all of a name so far',
      [part('get_', ''), part('get_weather', ''), bare('{"city":"Rome"}')],
      weather,
    ],
    [
      'with a name that is one piece twice',
      [part('ha', ''), part('ha', ''), part('haha', '{}')],
      [{ id: 'c1', name: 'haha', arguments: '{}' }],
    ],
    [
      'with a name that begins another',
      [part('go', ''), part('go', ''), part('go', '{}')],
      [{ id: 'c1', name: 'go', arguments: '{}' }],
    ],
    [
      'with all arguments once more',
      [part('get_weather', '{"city"'), bare(':"Rome"}'), part('get_weather', '{"city":"Rome"}')],
      weather,
    ],
    [
      'with all arguments so far',
      ['{"ci', '{"city":', '{"city":"Ro', '{"city":"Rome"}'].map((given) => part('get_weather', given)),
      weather,
    ],
    [
      'with a name that begins another, and without arguments',
      [part('go', '')],
      [{ id: 'c1', name: 'go', arguments: '' }],
    ],
    ['with arguments as an object', [part('get_weather', { city: 'Rome' })], weather],
    [
      'with an object inside an object of one name',
      [part('get_weather', '{"a":'), bare('{"a":'), bare('{"a":1}}}')],
      [{ id: 'c1', name: 'get_weather', arguments: '{"a":{"a":{"a":1}}}' }],
    ],
    [
      'of one index and new ids',
      [part('get_weather', '{}'), part('go', '{', { id: 'c2' }), part('go', '}', { id: 'c2' })],
      [
        { id: 'c1', name: 'get_weather', arguments: '{}' },
        { id: 'c2', name: 'go', arguments: '{}' },
      ],
    ],
    [
      'without an index, by turns',
      [
        part('get_weather', '{', { index: undefined }),
        part('go', '{', { index: undefined, id: 'c2' }),
        { id: 'c1', function: { arguments: '}' } },
        { id: 'c2', function: { arguments: '}' } },
      ],
      [
        { id: 'c1', name: 'get_weather', arguments: '{}' },
        { id: 'c2', name: 'go', arguments: '{}' },
      ],
    ],
  ];
  test.each(CALLS)('has each call once where it comes in parts %s', async (_what, parts, calls) => {
    const reply = { chunks: [...parts.map((one) => chunk({ tool_calls: [one] })), finish(), DONE_EVENT] };
    expect(await ask(reply)).toMatchObject({ calls, finish: 'tool_calls', content: null });
    const once = calls.map((call) => `${call.id}function${call.name}${call.arguments}`).join('');
    const text = await joined(reply);
    expect([...text].sort().join('')).toBe([...once].sort().join(''));
  });

  test.each(['application/json', 'text/event-stream', 'text/plain'])(
    'is judged by what it is, not by its type (%s)',
    async (type) => {
      const headers = { 'content-type': type };
      const tool_calls = [
        { index: 0, id: 'c1', type: 'function', function: { name: 'go', arguments: '{}' } },
      ];
      const whole = { role: 'assistant', content: null, reasoning_content: 'hm', tool_calls };
      const expected = {
        calls: [{ id: 'c1', name: 'go', arguments: '{}' }],
        finish: 'tool_calls',
        tokens: [20, 7, 27],
      };
      const choices = [{ index: 0, message: whole, finish_reason: 'stop' }];
      const answer = completion('', { choices, usage: usage() });
      for (const given of [
        JSON.stringify(answer),
        `\ufeff${JSON.stringify(answer)}`,
        JSON.stringify([answer]),
      ])
        expect(await ask({ headers, body: given })).toMatchObject(expected);
      const streamed = [
        chunk({ reasoning_content: 'h' }),
        chunk({ reasoning_content: 'm' }),
        chunk({ tool_calls }),
        finish(),
        event({ usage: usage() }),
        DONE_EVENT,
      ];
      for (const head of ['', '\ufeff', ': hello\n\n', '\n\n', 'event: message\n'])
        expect(await ask({ headers, chunks: [head + streamed.join('')] })).toMatchObject(expected);
    },
  );

  const CUT = [
    ['an error', event({ error: { message: 'overloaded' } })],
    ['an error without that name', event({ object: 'error', message: 'overloaded', code: 500 })],
    ['an event that is called one', 'event: error\ndata: {"message":"overloaded"}\n\n'],
    ['an end', ''],
    ['a reason of failure', finish('error')],
  ] as const;
  test.each(CUT)('is a fallback’s where %s follows a role and silence', async (_what, tail) => {
    upstream.queue({
      chunks: [
        chunk({ role: 'assistant', content: '', refusal: null, tool_calls: [] }),
        'data: null\n\n',
        tail,
      ],
    });
    expect(await ask({ body: completion('Spare') })).toMatchObject({ content: 'Spare' });
    expect(upstream.requests.at(-1)?.body['model']).toBe('spare');
  });
});

test('an agent reads an upstream that is odd in every way at once', async () => {
  const given = JSON.stringify({ format: 'markdown', title: 'A', content: 'Text' });
  const call = (args: string) =>
    chunk({
      tool_calls: [
        { index: 0, id: 'c1', type: 'function', function: { name: 'create_document', arguments: args } },
      ],
    });
  for (const silent of SILENT) {
    upstream.queue(
      {
        chunks: [
          silent,
          call(given.slice(0, 9)),
          silent,
          call(given.slice(9)),
          silent,
          finish('STOP'),
          silent,
          DONE_EVENT,
        ],
      },
      {
        chunks: [
          silent,
          chunk({ role: 'assistant' }),
          silent,
          chunk({ content: 'Written.' }),
          silent,
          finish('END_TURN'),
          DONE_EVENT,
        ],
      },
    );
    const run = await runAgent(penstock, key, agent, { input: 'Write' });
    expect(run.last).toMatchObject({ type: 'done', output: 'Written.' });
    expect(run.steps.find(({ type }) => type === 'tool_result')?.tool_output).toMatchObject({ title: 'A' });
  }
});

test.each([
  [{ tools: [], tool_choice: 'auto', parallel_tool_calls: true }, {}],
  [{ tools: [], tool_choice: 'none' }, {}],
  [{ functions: [], function_call: 'auto' }, {}],
  [{ tools: [], tool_choice: 'required' }, { tool_choice: 'required' }],
])('an empty list of tools is not sent on: %j', async (asked, sent) => {
  upstream.queue({ body: completion('Hello') });
  const { status } = await penstock.rest('POST', '/chat/completions', {
    key,
    body: { model: 'acme/chat', messages: body.messages, ...asked },
  });
  expect(status).toBe(200);
  const { model: _model, messages: _messages, max_tokens: _cap, ...rest } = upstream.requests.at(-1)!.body;
  expect(rest).toEqual(sent);
});
