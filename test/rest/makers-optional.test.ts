import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { CHATS, creditsUsed, startMakers } from '../support/makers.js';
import type { Makers } from '../support/makers.js';
import type { NativeReply } from '../support/native-upstream.js';

const MAKERS = ['anthropic', 'amazon-bedrock', 'cohere', 'google'] as const;
type Maker = (typeof MAKERS)[number];
const TESTS = 20;
/** A model of its own for each test: what it refuses is remembered. */
const namesOf = (upstreamId: (at: number) => string) =>
  Object.fromEntries(Array.from({ length: TESTS }, (_, at) => [`m${at}`, upstreamId(at)]));

let makers: Makers;
let key: string;
let model = 0;

beforeAll(async () => {
  const models = {
    anthropic: { plain: 'claude-sonnet-4-5', ...namesOf((at) => `claude-haiku-4-5-${at}`) },
    'amazon-bedrock': { plain: 'amazon.nova-pro-v1:0', ...namesOf((at) => `amazon.nova-lite-v1:${at}`) },
    cohere: { plain: 'command-r', ...namesOf((at) => `command-a-${at}`) },
    google: { plain: 'gemini-2.5-pro', ...namesOf((at) => `gemini-2.5-flash-${at}`) },
  };
  const omitted = Object.fromEntries(
    MAKERS.map((maker) => [`${maker}/plain`, ['top_p', 'temperature', 'seed']]),
  );
  makers = await startMakers(models, {}, omitted);
});
afterAll(() => makers?.close());
beforeEach(async () => {
  makers.upstream.clear();
  ({ key } = await makers.penstock.createOrg({ plan: 'business_monthly' }));
  model++;
});

const ask = (maker: Maker, body: object) =>
  makers.penstock.rest<{ error?: string }>('POST', '/chat/completions', {
    key,
    body: { model: `${maker}/m${model}`, messages: [{ role: 'user', content: 'Hi' }], ...body },
  });

/** Each maker's own word for `top_p` and how it words that it does not take it. */
const WORDINGS: Record<Maker, { word: string; said: string }> = {
  anthropic: { word: 'top_p', said: 'top_p: Extra inputs are not permitted' },
  'amazon-bedrock': { word: 'topP', said: 'The model does not take topP.' },
  cohere: { word: 'p', said: "invalid request: 'p' is not supported with this model" },
  google: { word: 'topP', said: 'Invalid JSON payload. Unknown name "topP" at \'generation_config\'' },
};
const faultOf = (said: string): NativeReply => ({
  status: 400,
  body: { type: 'error', message: said, error: { type: 'invalid_request_error', code: 400, message: said } },
});

/** Answers as makers do, but for requests that hold a field. */
function refuse(word: string, said: string): void {
  for (const [path, reply] of CHATS)
    makers.upstream.on(path, (request) =>
      request.bytes.toString().includes(`"${word}":`) ? faultOf(said) : (reply as object),
    );
}
const told = (word: string) =>
  makers.upstream.requests.map(({ bytes }) => bytes.toString().includes(`"${word}":`));

test.each(MAKERS)(
  'what asks for nothing and a maker refuses is left out in one more try, charged once, and not sent again (%s)',
  async (maker) => {
    const { word, said } = WORDINGS[maker];
    refuse(word, said);
    expect(await ask(maker, { top_p: 1 })).toMatchObject({ status: 200 });
    expect(told(word)).toEqual([true, false]);
    expect(await creditsUsed(makers.penstock, key)).toBe(1);
    expect(await ask(maker, { top_p: 1 })).toMatchObject({ status: 200 });
    expect(told(word)).toEqual([true, false, false]);
  },
);

test.each(MAKERS)('what a caller asked for and its maker refuses is a 400 (%s)', async (maker) => {
  const { word, said } = WORDINGS[maker];
  refuse(word, said);
  expect(await ask(maker, { top_p: 0.5 })).toMatchObject({ status: 400 });
  expect(told(word)).toEqual([true]);
  expect(await creditsUsed(makers.penstock, key)).toBe(0);
});

test.each(MAKERS)('an entry says which fields its model is never sent (%s)', async (maker) => {
  for (const [path, reply] of CHATS) makers.upstream.on(path, reply);
  const asked = { model: `${maker}/plain`, top_p: 0.5, temperature: 0.2, seed: 7, stop: ['x'] };
  expect(await ask(maker, asked)).toMatchObject({ status: 200 });
  const [sent, ...more] = makers.upstream.requests;
  expect(more).toEqual([]);
  expect(sent?.bytes.toString()).not.toMatch(/"(top_p|topP|p|temperature|seed)":/);
  expect(sent?.bytes.toString()).toContain('["x"]');
});

const spoken = [
  {
    type: 'message_start',
    message: {
      type: 'message',
      id: 'msg_1',
      model: 'claude',
      role: 'assistant',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Yes' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 1 },
  },
  { type: 'message_stop' },
];

test.each(['temperature: Extra inputs are not permitted', '`temperature` is deprecated for this model.'])(
  'an agent whose model takes no temperature goes without the default one: %s',
  async (said) => {
    makers.upstream.on('/v1/messages', ({ json }) =>
      'temperature' in json ? faultOf(said) : { events: spoken },
    );
    const id = await makeAgent(makers.penstock, key, { model: `anthropic/m${model}` });
    for (const asked of [
      [true, false],
      [true, false, false],
    ]) {
      const run = await runAgent(makers.penstock, key, id, { input: 'Hi' });
      expect(run.last).toMatchObject({ type: 'done', output: 'Yes' });
      expect(told('temperature')).toEqual(asked);
    }
  },
);
