import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { chunk, completion, DONE_EVENT, event } from '../support/fake-upstream.js';
import type { Reply } from '../support/fake-upstream.js';
import { finish, ODD_BODY, startOddUpstream, WAYS } from '../support/malformed-upstream.js';
import type { OddUpstream } from '../support/malformed-upstream.js';

let odd: OddUpstream;
let agent: string;
beforeAll(async () => {
  odd = await startOddUpstream();
  agent = await makeAgent(odd.penstock, odd.key, { model: 'acme/chat', tools: ['create_document'] });
});
afterAll(() => odd?.close());

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

describe.each(WAYS)('an answer that is %s', (way) => {
  const ask = (reply: Reply) => odd.ask(way, reply);

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
    ['x_other.usage', { x_other: { usage: usage() } }, [20, 7, 27]],
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
      'load',
      'eosFound',
      'FinishReason.STOP',
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
      'FinishReason.MAX_TOKENS',
      'max_output',
      'maxPredictedTokensReached',
      'REASON_TIME_LIMIT',
      'token limit reached',
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
      'sensitive',
      'MODEL_ARMOR',
      'IMAGE_SAFETY',
      'MALFORMED_FUNCTION_CALL',
      'function_call_filter: MALFORMED_FUNCTION_CALL',
      'UNEXPECTED_TOOL_CALL',
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

  test('that ends with an object which names its reason ended with that', async () => {
    for (const given of [{ type: 'length', length: 16 }, { reason: 'MAX_TOKENS' }])
      expect((await ask({ chunks: [...words, finish(given), DONE_EVENT] })).finish).toBe('length');
  });

  const FAILURES = ['ERROR', 'error', 'failed', 'TIMEOUT', 'network_error', 'userStopped'];
  test.each([...FAILURES, 'insufficient_system_resource'])(
    'that was given up (%s) before it began is a fallback’s',
    async (word) => {
      odd.upstream.queue({ chunks: [chunk({ role: 'assistant', content: '' }), finish(word)] });
      expect(await ask({ body: completion('Spare') })).toMatchObject({ content: 'Spare', finish: 'stop' });
    },
  );

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

  test('is counted by a usage that its upstream tells behind the end', async () => {
    const last = event({ choices: [], usage: usage() });
    for (const chunks of [
      [...words, finish(), DONE_EVENT, last],
      [...words, finish(), DONE_EVENT + last],
      [...words, finish(), 'data: [done]\n\n', last],
    ])
      expect(await ask({ chunks })).toMatchObject({ content: 'one two three', tokens: [20, 7, 27] });
  });

  test('has what stands under `message` or `text` instead of `delta`, once', async () => {
    const whole = { role: 'assistant', content: 'one' };
    for (const said of [{ message: whole }, { text: 'one' }])
      for (const more of [
        [],
        [
          event({
            object: 'chat.completion',
            choices: [{ index: 0, message: whole, finish_reason: 'stop' }],
          }),
        ],
      ]) {
        const choices = [{ index: 0, ...said, finish_reason: null }];
        const chunks = [event({ id: 'a', choices }), finish(), ...more, DONE_EVENT];
        expect(await ask({ chunks })).toMatchObject({ content: 'one', tokens: [56, 1, 57] });
      }
  });

  const FAULTS = [
    { error: 'overloaded' },
    { error: {} },
    [{ error: { code: 503 } }],
    { errors: ['overloaded'] },
    { Error: { Message: 'overloaded' } },
    { error_code: 336100, error_msg: 'busy' },
    { err_code: 3, err_msg: 'busy' },
    { base_resp: { status_code: 1002, status_msg: 'rate limit' } },
    { detail: 'CUDA error' },
    { code: 500, message: 'overloaded' },
    { code: 'InternalError', message: 'overloaded' },
    { status: 'failed' },
    { success: false, message: 'overloaded' },
    { statusCode: 503, message: 'overloaded' },
    { type: 'server_error', message: 'overloaded' },
  ];
  test.each(FAULTS)('is no answer where its upstream tells of a failure in it: %j', async (fault) => {
    const failed = 'Generation failed';
    const role = chunk({ role: 'assistant', content: '' });
    odd.upstream.queue({ chunks: [role, event(fault), DONE_EVENT] });
    expect(await ask({ body: completion('Spare') })).toMatchObject({ content: 'Spare' });
    const late = ask({ chunks: [...words, event(fault), DONE_EVENT] });
    if (way === 'streamed') await expect(late).rejects.toThrow(failed);
    else expect(await late).toMatchObject({ content: 'Hello from upstream.' });
  });

  test.each(['Error', 'exception', 'response.failed'])('fails with an event of the name %s', async (name) => {
    odd.upstream.queue({ chunks: [`event: ${name}\ndata: overloaded\n\n`, DONE_EVENT] });
    expect(await ask({ body: completion('Spare') })).toMatchObject({ content: 'Spare' });
  });

  const CUT = [
    ['an error', event({ error: { message: 'overloaded' } })],
    ['an error without that name', event({ object: 'error', message: 'overloaded', code: 500 })],
    ['an event that is called one', 'event: error\ndata: {"message":"overloaded"}\n\n'],
    ['an end', ''],
    ['a reason of failure', finish('error')],
  ] as const;
  test.each(CUT)('is a fallback’s where %s follows a role and silence', async (_what, tail) => {
    odd.upstream.queue({
      chunks: [
        chunk({ role: 'assistant', content: '', refusal: null, tool_calls: [] }),
        'data: null\n\n',
        tail,
      ],
    });
    expect(await ask({ body: completion('Spare') })).toMatchObject({ content: 'Spare' });
    expect(odd.upstream.requests.at(-1)?.body['model']).toBe('spare');
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
    odd.upstream.queue(
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
    const run = await runAgent(odd.penstock, odd.key, agent, { input: 'Write' });
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
  odd.upstream.queue({ body: completion('Hello') });
  const { status } = await odd.penstock.rest('POST', '/chat/completions', {
    key: odd.key,
    body: { model: 'acme/chat', messages: ODD_BODY.messages, ...asked },
  });
  expect(status).toBe(200);
  const {
    model: _model,
    messages: _messages,
    max_tokens: _cap,
    ...rest
  } = odd.upstream.requests.at(-1)!.body;
  expect(rest).toEqual(sent);
});
