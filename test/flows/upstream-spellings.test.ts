import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chunk, completion, DONE_EVENT, event } from '../support/fake-upstream.js';
import type { Reply } from '../support/fake-upstream.js';
import { finish, startOddUpstream, WAYS } from '../support/malformed-upstream.js';
import type { OddUpstream } from '../support/malformed-upstream.js';

let odd: OddUpstream;
beforeAll(async () => {
  odd = await startOddUpstream();
});
afterAll(() => odd?.close());

const USAGE = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 };
const json = (written: string): string => written.slice('data: '.length).trim();
/** A brace after a brace may also be part of the text. */
const TEXTS = ['one', ' {"a":{}}{"b":1}\n', '} data: {', ' “grüße” \\" 😀'];
const CHUNKS = [
  ...TEXTS.map((content) => json(chunk({ content }))),
  json(chunk({}, { finish_reason: 'stop', usage: USAGE })),
];
const WHOLE = { content: TEXTS.join(''), calls: [], finish: 'stop', tokens: [20, 7, 27] };
const lines = (texts: readonly string[]): string => texts.map((text) => `data: ${text}\n`).join('');

/** The same chunks, as servers that keep the convention loosely write them. */
const WRITTEN: [string, string][] = [
  ['in one event, a line each', `${lines(CHUNKS)}\n${DONE_EVENT}`],
  ['without any blank line', lines([...CHUNKS, '[DONE]'])],
  ['two in each event', `${lines(CHUNKS.slice(0, 2))}\n${lines(CHUNKS.slice(2))}\n${DONE_EVENT}`],
  ['one behind the other', `data: ${CHUNKS.join('')}\n\n${DONE_EVENT}`],
  ['one behind the other with blanks', `data: ${CHUNKS.join('  ')}\n\n${DONE_EVENT}`],
  ['one behind the other with their fields', `data: ${CHUNKS.join('data: ')}\n\n${DONE_EVENT}`],
  ['with the end in the same event', `data: ${CHUNKS.join('')}[DONE]\n\n`],
  ['in a list', `data: [${CHUNKS.join(',')}]\n\n${DONE_EVENT}`],
  [
    'in two lists',
    `data: [${CHUNKS.slice(0, 2).join()}]\n\ndata: [${CHUNKS.slice(2).join()}]\n\n${DONE_EVENT}`,
  ],
  ['with the field twice', [...CHUNKS, '[DONE]'].map((text) => `data: data: ${text}\n\n`).join('')],
  [
    'with the field twice and its blank lines',
    CHUNKS.map((text) => `data: data: ${text}\r\ndata: \r\ndata: \r\n\r\n`).join('') + DONE_EVENT,
  ],
  ['as lines of JSON', CHUNKS.map((text) => `${text}\n`).join('')],
  ['as lines of JSON with an end', `${[...CHUNKS, '[DONE]'].join('\n\n')}\n`],
  ['as lines of JSON with carriage returns', CHUNKS.join('\r\n')],
];

describe.each(WAYS)('an answer that is %s', (way) => {
  const ask = (reply: Reply) => odd.ask(way, reply);

  test.each(WRITTEN)('is whole where its chunks come %s', async (_, written) => {
    const bytes = Buffer.from(written);
    for (const size of [bytes.length, 7]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      expect(await ask({ chunks })).toEqual(WHOLE);
    }
  });

  const charsets: [string, (text: string) => Buffer, string][] = [
    ['utf-16le', (text) => Buffer.from(text, 'utf16le'), 'grüße 漢'],
    ['UTF-16', (text) => Buffer.from(`\ufeff${text}`, 'utf16le'), 'grüße 漢'],
    ['utf-16be', (text) => Buffer.from(text, 'utf16le').swap16(), 'grüße 漢'],
    ['iso-8859-1', (text) => Buffer.from(text, 'latin1'), 'grüße, garçon'],
    ['"Windows-1252"', (text) => Buffer.from(text, 'latin1'), 'grüße'],
    // Servers that name a charset which is not theirs.
    ['ISO-8859-1', (text) => Buffer.from(text), 'grüße 漢 😀'],
    ['us-ascii', (text) => Buffer.from(text), 'grüße 漢 😀'],
    ['utf-8', (text) => Buffer.from(text), 'grüße 漢 😀'],
    ['unknown-1', (text) => Buffer.from(text), 'grüße 漢 😀'],
  ];
  test.each(charsets)('is read in the charset %s', async (charset, encode, content) => {
    const events = encode([chunk({ content }), finish(), DONE_EVENT].join(''));
    for (const size of [events.length, 1, 3]) {
      const chunks = Array.from({ length: Math.ceil(events.length / size) }, (_, at) =>
        events.subarray(at * size, (at + 1) * size),
      );
      const headers = { 'content-type': `text/event-stream; charset=${charset}` };
      expect(await ask({ headers, chunks })).toMatchObject({ content, finish: 'stop' });
    }
    const headers = { 'content-type': `application/json;charset=${charset}` };
    const body = encode(JSON.stringify(completion(content)));
    expect(await ask({ headers, body })).toMatchObject({ content, finish: 'stop', tokens: [10, 5, 15] });
  });

  test.each<[string, object]>([
    ['usage_metadata', { prompt_token_count: 20, candidates_token_count: 7, total_token_count: 27 }],
    ['token_usage', USAGE],
    ['amazon-bedrock-invocationMetrics', { inputTokenCount: 20, outputTokenCount: 7 }],
    ['usage', [USAGE]],
    [
      'usage',
      { billed_units: { input_tokens: 5, output_tokens: 2 }, tokens: { input_tokens: 20, output_tokens: 7 } },
    ],
  ])('is counted by %s: %j', async (name, told) => {
    const { usage: _, ...rest } = completion('x');
    expect(await ask({ body: { ...rest, [name]: told } })).toMatchObject({ tokens: [20, 7, 27] });
    const end = chunk({}, { finish_reason: 'stop', [name]: told });
    expect(await ask({ chunks: [chunk({ content: 'x' }), end, DONE_EVENT] })).toMatchObject({
      tokens: [20, 7, 27],
    });
  });

  const heads = ['', 'FINISH_REASON_', 'finishReason.', 'STOP_REASON_'];
  const words = {
    stop: ['STOP', 'end_turn', 'EOS', 'OTHER', 'NO_IMAGE'],
    length: ['MAX_TOKENS', 'length_limit', 'MaxLengthReached', 'max_gen_len', 'too-long'],
    content_filter: ['SAFETY', 'content_moderation', 'HARMFUL_CONTENT', 'safety_violation', 'Censored'],
  };
  const reasons = Object.entries(words).flatMap(([meant, said]) =>
    said.flatMap((word) => heads.map((head): [string, string] => [`${head}${word}`, meant])),
  );
  test.each(reasons)('ends with %s as %s', async (word, meant) => {
    expect(await ask({ chunks: [chunk({ content: 'x' }), finish(word), DONE_EVENT] })).toMatchObject({
      finish: meant,
    });
  });

  const call = { name: 'get_weather', arguments: '{"q":1}' };
  const CALL = { name: 'get_weather', arguments: '{"q":1}' };
  const without = [null, {}];
  test.each<[string, Record<string, unknown>]>([
    ['in the older form', { function_call: call }],
    ['in the older form with an object', { function_call: { ...call, arguments: { q: 1 } } }],
    ['in both forms', { function_call: call, tool_calls: [{ id: 'a', function: call }] }],
    ['with its input', { tool_calls: [{ id: 'a', name: 'get_weather', input: { q: 1 } }] }],
    ['beside calls that are none', { tool_calls: [...without, { id: 'a', function: call }, ...without] }],
  ])('has its call once, %s', async (_, message) => {
    const said = { calls: [expect.objectContaining(CALL)], finish: 'tool_calls' };
    const choices = [
      { index: 0, message: { role: 'assistant', content: '', ...message }, finish_reason: 'stop' },
    ];
    expect(await ask({ body: { ...completion(''), choices } })).toMatchObject(said);
    expect(await ask({ chunks: [chunk(message), finish(), DONE_EVENT] })).toMatchObject(said);
  });

  test.each([[{}], [[null]], [[{}]], [[]]])('has no call where its list says nothing: %j', async (calls) => {
    const message = { role: 'assistant', content: 'x', tool_calls: calls };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    expect(await ask({ body: { ...completion(''), choices } })).toMatchObject({
      content: 'x',
      calls: [],
      finish: 'stop',
    });
    expect(await ask({ chunks: [chunk(message), finish(), DONE_EVENT] })).toMatchObject({
      content: 'x',
      calls: [],
      finish: 'stop',
    });
  });

  test.each<[string, object]>([
    ['its text only', { text: 'x' }],
    ['a delta', { delta: { role: 'assistant', content: 'x' } }],
    ['a delta beside nothing', { message: null, delta: { content: 'x' } }],
  ])('is read where a choice has %s', async (_, choice) => {
    const choices = [{ index: 0, ...choice, finish_reason: 'stop' }];
    expect(await ask({ body: { ...completion(''), choices } })).toMatchObject({
      content: 'x',
      finish: 'stop',
    });
  });

  test('is the fallback’s where a choice has nothing', async () => {
    odd.upstream.queue({
      body: { ...completion(''), choices: [{ index: 0, message: null, finish_reason: 'stop' }] },
    });
    const { body } = await odd.penstock.rest<{ model: string }>('POST', '/chat/completions', {
      key: odd.key,
      body: { model: 'acme/chat', messages: [{ role: 'user', content: 'Hi' }] },
    });
    expect(body.model).toBe('acme/spare');
  });
});

test('lines without an end are cut off', async () => {
  await expect(odd.ask('streamed', { chunks: [`${CHUNKS[0]}\n${CHUNKS[1]}\n`] })).rejects.toThrow();
});

describe('/v1/responses', () => {
  const NAMES = ['go', 'go_on', 'get_weather'];
  async function last(
    reply: Reply,
  ): Promise<{ type: string; response: { output: { name?: string }[]; usage: object } }> {
    odd.upstream.queue(reply);
    const answer = await fetch(`${odd.penstock.origin}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${odd.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'acme/chat',
        input: 'Hi',
        store: false,
        stream: true,
        tools: NAMES.map((name) => ({ type: 'function', name, parameters: { type: 'object' } })),
      }),
    });
    const events = (await answer.text()).split('\n').filter((line) => line.startsWith('data: '));
    return JSON.parse((events.at(-1) ?? '').slice('data: '.length)) as Awaited<ReturnType<typeof last>>;
  }

  test.each<[string, Reply]>([
    [
      'a stream',
      {
        chunks: [
          chunk({ role: 'assistant', content: '' }),
          finish(),
          event({ choices: [], usage: USAGE }),
          DONE_EVENT,
        ],
      },
    ],
    ['one piece', { body: { ...completion(''), usage: USAGE } }],
  ])('completes an answer of nothing, in %s, as every other address does', async (_, reply) => {
    expect(await last(reply)).toMatchObject({
      type: 'response.completed',
      response: { output: [], usage: { input_tokens: 20, output_tokens: 7 } },
    });
  });

  test.each([
    ['go', 'get_weather'],
    ['get_weather', 'go'],
    ['go', 'go_on', 'get_weather'],
    ['go', 'go', 'go'],
  ])('has calls in the order of their upstream: %s, %s', async (...names) => {
    const calls = names.map((name, at) => ({
      index: at,
      id: `c${at}`,
      type: 'function',
      function: { name, arguments: '{}' },
    }));
    const { response } = await last({
      chunks: [chunk({ tool_calls: calls }), finish('tool_calls'), DONE_EVENT],
    });
    expect(response.output.map(({ name }) => name)).toEqual(names);
  });
});
