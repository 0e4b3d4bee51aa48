import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { chunk, completion, DONE_EVENT, startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let upstream: FakeUpstream;
let api: TestServer;
let key: string;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const models = [{ id: 'acme/chat', upstreamId: 'chat', type: 'chat', tier: 'basic' }];
  const retry = { retries: 0, backoffMs: 1 };
  const acme = { id: 'acme', kind: 'openai-compatible', baseUrl: upstream.baseUrl, retry, models };
  api = await startPenstock({ role: 'api', providers: { providers: [acme] } });
  ({ key } = await api.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await api?.close();
  await upstream?.close();
});

/** As a model writes it: neither the spaces nor the order are those that a database would give back. */
const given = '{ "format": "markdown", "title":"A",\n"content": "Text" }';
const sealed = { extra_content: { maker: { signature: 'sig+/=' } } };
const call = {
  id: 'tool_1',
  type: 'function',
  function: { name: 'create_document', arguments: given, seal: 'f' },
};
const carried = {
  reasoning_content: 'I think',
  reasoning_details: [{ type: 'reasoning.encrypted', data: 'b+/=', index: 0 }],
  z_maker: { b: [1, { c: null }], a: 'x' },
};

test('a run that another worker takes over between two rounds gives its maker back what the first one carried', async () => {
  upstream.queue(
    {
      chunks: [
        chunk({ role: 'assistant', ...carried }),
        chunk({ tool_calls: [{ index: 0, ...call, ...sealed }] }),
        chunk({}, { finish_reason: 'tool_calls' }),
        DONE_EVENT,
      ],
    },
    // The first worker waits for its second round until it stops.
    { chunks: [], then: 'hang' },
    { body: completion('Done.') },
  );
  const { installation } = api;
  const first = await startPenstock({ role: 'worker', installation });
  const id = await makeAgent(api, key, { model: 'acme/chat', tools: ['create_document'] });
  const { data } = await api.graphql<{ runAgent: { id: string } }>(
    'mutation ($id: ID!) { runAgent(id: $id, input: { input: "Write" }) { id } }',
    { key, variables: { id } },
  );
  await eventually(() => Promise.resolve(upstream.requests.length === 2));
  await first.close();
  expect(upstream.requests).toHaveLength(2);
  const second = await startPenstock({ role: 'worker', installation });
  const read = async () => {
    const query = `{ agentRun(id: "${data!.runAgent.id}") { status output } }`;
    return (await api.graphql<{ agentRun: { status: string; output: string } }>(query, { key })).data!
      .agentRun;
  };
  await eventually(async () => (await read()).status === 'completed', { timeoutMs: 60_000 });
  await second.close();
  expect(await read()).toEqual({ status: 'completed', output: 'Done.' });
  const [, held, again, ...more] = upstream.requests.map(({ body }) => body['messages'] as object[]);
  expect(more).toEqual([]);
  expect(again).toEqual(held);
  expect(again!.at(-2)).toEqual({
    role: 'assistant',
    content: null,
    ...carried,
    tool_calls: [{ ...call, ...sealed }],
  });
  expect(again!.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'tool_1' });
}, 120_000);
