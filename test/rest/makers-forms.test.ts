import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import OpenAI from 'openai';
import { creditsUsed, startMakers } from '../support/makers.js';
import type { Makers } from '../support/makers.js';
import { ANSWERS, OWN_FORMS, streamReply } from '../support/makers-answers.js';
import type { OwnForm } from '../support/makers-answers.js';
import type { NativeReply } from '../support/native-upstream.js';

let makers: Makers;
let key: string;
let client: OpenAI;

beforeAll(async () => {
  makers = await startMakers({
    anthropic: { chat: 'claude-haiku-4-5' },
    'amazon-bedrock': { chat: 'amazon.nova-lite-v1:0' },
    cohere: { chat: 'command-a-03-2025' },
    google: { chat: 'gemini-2.5-flash' },
  });
});
afterAll(() => makers?.close());
beforeEach(async () => {
  makers.upstream.clear();
  ({ key } = await makers.penstock.createOrg({ plan: 'business_monthly' }));
  client = new OpenAI({ apiKey: key, baseURL: `${makers.penstock.origin}/api/v1`, maxRetries: 0 });
});

const WAYS = ['whole', 'streamed'] as const;
type Way = (typeof WAYS)[number];
const tools = [
  { type: 'function' as const, function: { name: 'go', parameters: { type: 'object', properties: {} } } },
];

/** The answer as the convention's own client reads it. */
async function ask(maker: OwnForm, way: Way) {
  const { completions } = client.chat;
  const body = {
    model: `${maker}/chat`,
    messages: [{ role: 'user' as const, content: 'Hi' }],
    tools,
  };
  const { choices, usage } = await (way === 'whole'
    ? completions.create(body)
    : completions.stream({ ...body, stream: true }).finalChatCompletion());
  const [choice] = choices;
  const { content, tool_calls: calls = [] } = choice!.message;
  return {
    content,
    calls: calls.map((call) => {
      const { name, arguments: given } = (call as { function: { name: string; arguments: string } }).function;
      return [typeof call.id, name, given];
    }),
    finish: choice!.finish_reason,
    tokens: [usage?.prompt_tokens, usage?.completion_tokens, usage?.total_tokens],
  };
}

const yes = { content: 'Yes', calls: [], finish: 'stop', tokens: [3, 1, 4] };
const go = (way: Way) => ({
  ...yes,
  // Beside calls an answer in one piece says nothing else (decisions 6).
  content: way === 'whole' ? null : 'Yes',
  calls: [['string', 'go', '{"a":1}']],
  finish: 'tool_calls',
});

describe.each(OWN_FORMS)('an answer of %s', (maker) => {
  const { paths, reasons, whole, events } = ANSWERS[maker];
  const [stop = ''] = reasons.stop;
  const reply = (given: NativeReply): void => {
    for (const path of Object.values(paths)) makers.upstream.on(path, given);
  };

  test.each(WAYS)(
    'is read as what it is, in whichever form it comes, where it is asked for %s',
    async (way) => {
      const types = ['application/json', 'text/event-stream', 'text/plain', 'application/octet-stream'];
      for (const [calls, expected] of [
        [false, yes],
        [true, go(way)],
      ] as const) {
        const streamed = streamReply(maker, events(stop, calls));
        const one = JSON.stringify(whole(stop, calls));
        const before = makers.upstream.requests.length;
        const given: NativeReply[] = [
          streamed,
          { body: one },
          { body: `\ufeff\n ${one}` },
          { body: `[${one}]` },
          ...types.flatMap((type) => [
            { headers: { 'content-type': type }, body: one },
            ...(streamed.body === undefined
              ? [
                  {
                    headers: { 'content-type': type },
                    body: `\ufeff: hello\n\n${events(stop, calls)
                      .map((event) => `data:${JSON.stringify(event)}\r\n\r\n`)
                      .join('')}`,
                  },
                ]
              : [{ ...streamed, headers: { 'content-type': type } }]),
          ]),
          // As Gemini streams to who does not ask for events.
          ...(maker === 'google' ? [{ body: JSON.stringify(events(stop, calls)) }] : []),
        ];
        for (const answer of given) {
          reply(answer);
          expect(await ask(maker, way)).toEqual(expected);
        }
        // Nothing is asked twice for it.
        expect(makers.upstream.requests.length - before).toBe(given.length);
        expect(await creditsUsed(makers.penstock, key)).toBe(makers.upstream.requests.length);
      }
    },
  );

  const words = Object.entries(reasons).flatMap(([meant, said]) =>
    said.flatMap((word) => WAYS.map((way) => [word, meant, way] as const)),
  );
  test.each(words)('that ends with %s ended with %s, where it is asked for %s', async (word, meant, way) => {
    for (const calls of [false, true])
      for (const given of [streamReply(maker, events(word, calls)), { body: whole(word, calls) }]) {
        reply(given);
        const finish = calls && meant === 'stop' ? 'tool_calls' : meant;
        expect((await ask(maker, way)).finish).toBe(finish);
      }
  });

  const SILENT: Record<OwnForm, (object | string)[]> = {
    anthropic: ['null', '', '{}', '[]', 'keep-alive', '{"type":"ping"}', '{"type":"heartbeat","at":1}'],
    cohere: ['null', '', '{}', '[]', 'keep-alive', '{"type":"debug","prompt":"x"}', '{"type":"ping"}'],
    google: [
      ...['null', '', '{}', '[]', 'keep-alive', '{"candidates":[]}', '{"candidates":null}'],
      ...['{"candidates":[{}]}', '{"candidates":[{"content":{}}]}', '{"modelVersion":"x"}'],
      '{"candidates":[{"content":{"parts":[]}}]}',
    ],
    'amazon-bedrock': [
      ...['initial-response', 'ping', 'contentBlockDelta', 'metadata'].flatMap((event) =>
        [{}, { p: 'abcdef' }, null, '', [], 'keep-alive'].map((payload) => ({ event, payload })),
      ),
      { event: 'contentBlockDelta', payload: { contentBlockIndex: 0, delta: {}, p: 'ab' } },
      { event: 'somethingNew', payload: { x: 1 } },
    ],
  };
  test.each(SILENT[maker].map((event) => [JSON.stringify(event), event] as const))(
    'is whole where an event says nothing: %s',
    async (_name, silent) => {
      const said = events(stop, true);
      for (let at = 0; at < said.length; at++) {
        reply(streamReply(maker, [...said.slice(0, at), silent, ...said.slice(at)]));
        for (const way of WAYS) expect(await ask(maker, way), `${way}, before event ${at}`).toEqual(go(way));
      }
    },
  );

  const BROKEN: [string, NativeReply][] = [
    ['a page', { headers: { 'content-type': 'text/html' }, body: '<html>Hi</html>' }],
    ['nothing', { body: '' }],
    ['an error with status 200', { body: { error: { message: 'overloaded' } } }],
    ['an empty list', { body: '[]' }],
    ['a beginning of JSON', { body: '{"a":' }],
  ];
  test.each(BROKEN)('that is %s is a failure of its upstream, and costs nothing', async (_what, given) => {
    reply(given);
    for (const way of WAYS) await expect(ask(maker, way)).rejects.toMatchObject({ status: 500 });
    expect(await creditsUsed(makers.penstock, key)).toBe(0);
  });
});
