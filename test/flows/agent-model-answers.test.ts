import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { chunk, DONE_EVENT, startFakeUpstream } from '../support/fake-upstream.js';
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

const finish = (reason: string): string[] => [chunk({}, { finish_reason: reason }), DONE_EVENT];

test.each([
  ['no index', {}],
  ['index 0', { index: 0 }],
])('an agent makes each of the calls that a model asks for side by side with %s', async (_what, at) => {
  const asked = ['first', 'second'].flatMap((title) => {
    const given = JSON.stringify({ format: 'markdown', title, content: 'Text' });
    return [
      { ...at, id: `c_${title}`, function: { name: 'create_document', arguments: given.slice(0, 9) } },
      { ...at, function: { arguments: given.slice(9) } },
    ];
  });
  upstream.queue(
    { chunks: [...asked.map((call) => chunk({ tool_calls: [call] })), ...finish('tool_calls')] },
    { chunks: [chunk({ content: 'Written.' }), ...finish('stop')] },
  );
  const id = await makeAgent(penstock, key, { model: 'acme/chat', tools: ['create_document'] });
  const run = await runAgent(penstock, key, id, { input: 'Write two documents' });
  expect(run.last).toMatchObject({ type: 'done', output: 'Written.' });
  const results = run.steps.filter(({ type }) => type === 'tool_result');
  expect(results.map(({ tool_output: output }) => output)).toMatchObject([
    { title: 'first' },
    { title: 'second' },
  ]);
});

test('what a model says to refuse is its answer to the run', async () => {
  const deltas = [{ role: 'assistant', content: null, refusal: 'I cannot' }, { refusal: ' do that.' }];
  upstream.queue({ chunks: [...deltas.map((delta) => chunk(delta)), ...finish('stop')] });
  const run = await runAgent(penstock, key, await makeAgent(penstock, key, { model: 'acme/chat' }), {
    input: 'Do it',
  });
  expect(run.last).toMatchObject({ type: 'done', output: 'I cannot do that.' });
});

test('what a page or a model says is sent on without NUL characters and half surrogate pairs, which upstreams refuse', async () => {
  const given = JSON.stringify({ format: 'markdown', title: 'a\u0000b', content: 'cut \ud83d' });
  const call = { index: 0, id: 'c_1', function: { name: 'create_document', arguments: given } };
  const before = upstream.requests.length;
  upstream.queue(
    {
      chunks: [
        chunk({ content: 'I \u0000 write \ud83d' }),
        chunk({ tool_calls: [call] }),
        ...finish('tool_calls'),
      ],
    },
    { chunks: [chunk({ content: 'Done.' }), ...finish('stop')] },
  );
  const id = await makeAgent(penstock, key, { model: 'acme/chat', tools: ['create_document'] });
  const run = await runAgent(penstock, key, id, { input: 'Write' });
  expect(run.last).toMatchObject({ type: 'done', output: 'Done.' });
  const [, second] = upstream.requests.slice(before);
  const sent = JSON.stringify(second?.body);
  expect(sent).toContain('I  write \ufffd');
  expect(sent).not.toMatch(/\\u0000|\\ud83d/);
});

/** A run of an agent with one tool, whose model calls one and then is done. */
async function runWithCall(called: { name: string; arguments: string }) {
  const call = { index: 0, id: 'c_1', function: called };
  upstream.queue(
    { chunks: [chunk({ tool_calls: [call] }), ...finish('tool_calls')] },
    { chunks: [chunk({ content: 'Done.' }), ...finish('stop')] },
  );
  const id = await makeAgent(penstock, key, { model: 'acme/chat', tools: ['create_document'] });
  const run = await runAgent(penstock, key, id, { input: 'Write' });
  expect(run.last).toMatchObject({ type: 'done', output: 'Done.' });
  return run;
}

test.each(['{"__proto__":{"x":1}}', '{"a":{"constructor":{"prototype":{}}}}', '{{{'])(
  'a call with arguments that nobody may read (%s) is a step with its error',
  async (given) => {
    const run = await runWithCall({ name: 'create_document', arguments: given });
    expect(run.steps.map(({ type, tool_output: output }) => [type, output])).toMatchObject([
      ['tool_call', undefined],
      ['tool_result', { error: expect.stringContaining('Invalid input') }],
      ['response', undefined],
    ]);
  },
);

test('a model that calls a tool that the agent does not have is told so in plain words', async () => {
  const before = upstream.requests.length;
  await runWithCall({ name: 'invented', arguments: '{"x":1}' });
  const [, second] = upstream.requests.slice(before);
  expect(second?.body['messages']).toMatchObject([
    { role: 'system' },
    { role: 'user', content: 'Write' },
    { role: 'assistant', tool_calls: [{ function: { name: 'invented' } }] },
    { role: 'tool', content: 'There is no such tool' },
  ]);
});
