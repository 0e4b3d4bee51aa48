import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { completion, startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream, Reply, SeenRequest } from '../support/fake-upstream.js';
import { creditsUsed } from '../support/makers.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let upstream: FakeUpstream;
let penstock: TestServer;
let key: string;
/** A model of its own for each test: what it refuses is remembered. */
let model = 0;
const MODELS = 60;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const listed = Array.from({ length: MODELS }, (_, at) => ({
    id: `acme/m${at}`,
    upstreamId: `m${at}`,
    type: 'chat',
    tier: 'basic',
  }));
  const acme = {
    id: 'acme',
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    retry: { retries: 0, backoffMs: 1 },
    models: [
      ...listed,
      {
        id: 'acme/plain',
        upstreamId: 'plain',
        type: 'chat',
        tier: 'basic',
        omit: ['stream_options', 'seed'],
      },
      { id: 'acme/embed', upstreamId: 'embed', type: 'embedding', tier: 'basic' },
    ],
  };
  penstock = await startPenstock({ providers: { providers: [acme] } });
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});
beforeEach(async () => {
  upstream.requests.length = 0;
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
  model++;
});

const messages = [{ role: 'user', content: 'Hi' }];
const ask = (more: object) =>
  penstock.rest<{ error?: string }>('POST', '/chat/completions', {
    key,
    body: { model: `acme/m${model}`, messages, ...more },
  });
const sentFields = () => upstream.requests.map(({ body }) => Object.keys(body));

/** Answers that refuse a field, as servers word it. */
const REFUSALS: ((name: string) => Reply)[] = [
  (name) => ({
    status: 400,
    body: {
      error: {
        message: `Unsupported parameter: '${name}' is not supported with this model.`,
        param: name,
        code: 'unsupported_parameter',
      },
    },
  }),
  (name) => ({
    status: 400,
    body: { error: { message: 'Unsupported value', param: `${name}.x`, code: 'unsupported_value' } },
  }),
  (name) => ({
    status: 422,
    body: {
      detail: [
        { type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted', input: {} },
      ],
    },
  }),
  (name) => ({ status: 400, body: { message: `property "${name}" is unsupported` } }),
  (name) => ({ status: 404, body: { error: `unknown field \`${name}\`` } }),
  (name) => ({
    status: 400,
    body: `\ufeff${JSON.stringify({ error: { message: `Unrecognized request argument supplied: ${name}`, param: name } })}`,
  }),
];

const refusing =
  (name: string, refusal: (name: string) => Reply) =>
  (request: SeenRequest): Reply =>
    name in request.body ? refusal(name) : { body: completion('Hello') };

const OPTIONAL: [string, object][] = [
  ['stream_options', { stream: true }],
  ['user', { user: 'u' }],
  ['prompt_cache_key', { prompt_cache_key: 'k' }],
  ['top_p', { top_p: 1 }],
  [
    'parallel_tool_calls',
    { parallel_tool_calls: true, tools: [{ type: 'function', function: { name: 'f' } }] },
  ],
];

test.each(
  OPTIONAL.flatMap(([name, more]) => REFUSALS.map((refusal, at) => [name, at, more, refusal] as const)),
)(
  '%s that an upstream refuses (wording %i) is left out in one more try, charged once, and not sent again',
  async (name, _at, more, refusal) => {
    upstream.always(refusing(name, refusal));
    expect((await ask(more)).status).toBe(200);
    expect(sentFields().map((fields) => fields.includes(name))).toEqual([true, false]);
    expect(await creditsUsed(penstock, key)).toBe(1);
    expect((await ask(more)).status).toBe(200);
    expect(sentFields().map((fields) => fields.includes(name))).toEqual([true, false, false]);
  },
);

test.each([['max_tokens', 'max_completion_tokens']])(
  'a cap that an upstream refuses (%s) is spelled %s from then on',
  async (refused, told) => {
    upstream.always(({ body }) =>
      refused in body
        ? {
            status: 400,
            body: {
              error: {
                message: `'${refused}' is not supported with this model. Use '${told}' instead.`,
                param: refused,
              },
            },
          }
        : { body: completion('Hello') },
    );
    for (const requests of [2, 3]) {
      expect((await ask({ max_tokens: 50 })).status).toBe(200);
      expect(upstream.requests).toHaveLength(requests);
    }
    expect(upstream.requests.at(-1)?.body).toMatchObject({ [told]: 50 });
  },
);

test.each<[object, string]>([
  [{ seed: 7 }, 'seed'],
  [{ top_p: 0.5 }, 'top_p'],
  [{ response_format: { type: 'json_object' } }, 'response_format'],
  [{ reasoning_effort: 'high' }, 'reasoning_effort'],
  [{ logprobs: true }, 'logprobs'],
])('what a caller asked for and its upstream refuses is a 400: %j', async (more, name) => {
  upstream.always(refusing(name, REFUSALS[0]!));
  const { status, body } = await ask(more);
  expect(status).toBe(400);
  expect(body.error).toContain(name);
  expect(upstream.requests).toHaveLength(1);
  expect(await creditsUsed(penstock, key)).toBe(0);
});

test('a cap that is too large stays a 400, since no answer may cost more than was reserved', async () => {
  upstream.always({ status: 400, body: { error: { message: 'max_tokens is too large: at most 4096' } } });
  expect((await ask({ max_tokens: 50 })).status).toBe(400);
  expect(upstream.requests).toHaveLength(1);
});

test('a field that is refused although it is left out is the caller’s 400, and is not remembered', async () => {
  upstream.always({ status: 400, body: { error: { message: "'user' is odd", param: 'user' } } });
  expect((await ask({ user: 'u' })).status).toBe(400);
  expect(upstream.requests).toHaveLength(2);
  upstream.always({ body: completion('Hello') });
  expect((await ask({ user: 'u' })).status).toBe(200);
  expect(sentFields().at(-1)).toContain('user');
});

test('an entry says which fields its model is never sent', async () => {
  upstream.always({ body: completion('Hello') });
  await ask({ model: 'acme/plain', stream: true, seed: 7 });
  expect(upstream.requests).toHaveLength(1);
  expect(sentFields()[0]).not.toEqual(expect.arrayContaining(['stream_options']));
  expect(sentFields()[0]).not.toContain('seed');
});

test('an agent whose model takes no temperature goes without the default one', async () => {
  upstream.always(refusing('temperature', REFUSALS[0]!));
  const id = await makeAgent(penstock, key, { model: `acme/m${model}` });
  const run = await runAgent(penstock, key, id, { input: 'Hi' });
  expect(run.last).toMatchObject({ type: 'done', output: 'Hello' });
});

test('embeddings go without the format that nobody asked for, and not without the dimensions that somebody did', async () => {
  const data = [{ index: 0, embedding: Buffer.from(new Float32Array([1, 2]).buffer).toString('base64') }];
  const refuse =
    (name: string) =>
    (request: SeenRequest): Reply =>
      name in request.body ? REFUSALS[0]!(name) : { body: { data, usage: { prompt_tokens: 1 } } };
  upstream.always(refuse('encoding_format'));
  const body = { model: 'acme/embed', input: 'Hi' };
  const made = await penstock.rest<{ data: { embedding: number[] }[] }>('POST', '/embeddings', { key, body });
  expect(made.body.data[0]?.embedding).toEqual([1, 2]);
  expect(upstream.requests).toHaveLength(2);
  upstream.always(refuse('dimensions'));
  const refused = await penstock.rest('POST', '/embeddings', { key, body: { ...body, dimensions: 2 } });
  expect(refused.status).toBe(400);
});
