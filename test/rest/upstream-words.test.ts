import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { chunk, completion, DONE_EVENT, startFakeUpstream, usageChunk } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;
let upstream: FakeUpstream;
let key: string;
let orgId: string;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const model = (name: string, type: string) => ({ id: `acme/${name}`, upstreamId: name, type });
  penstock = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: upstream.baseUrl,
          apiKey: 'sk-acme-secret',
          models: [
            { ...model('chat', 'chat'), tier: 'basic' },
            { ...model('embed', 'embedding'), tier: 'basic' },
            { ...model('paint', 'image'), tier: 'basic' },
          ],
        },
      ],
    },
  });
  ({ key, orgId } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

describe('what an upstream says of its own workings', () => {
  const TRACE =
    'Traceback (most recent call last):\n  File "/opt/vllm/engine/core.py", line 42, in step\nValueError: bad; SELECT id FROM api_keys WHERE x=1';
  const TOLD = 'The request was rejected by the model provider';
  const messages = [{ role: 'user', content: 'Hi' }];
  const refuse = () => upstream.always({ status: 400, body: { error: { message: TRACE } } });

  it.each<[string, object]>([
    ['/chat/completions', { model: 'acme/chat', messages }],
    ['/chat/completions', { model: 'acme/chat', messages, stream: true }],
    ['/embeddings', { model: 'acme/embed', input: 'x' }],
    ['/images/generations', { model: 'acme/paint', prompt: 'x' }],
  ])('is told to nobody by %s', async (path, body) => {
    refuse();
    expect(await penstock.rest('POST', path, { key, body })).toMatchObject({
      status: 400,
      body: { error: TOLD, code: 'invalid_request' },
    });
  });

  it('stands in no job, no GraphQL error and no run', async () => {
    refuse();
    const path = '/images/generations?async=true';
    const { body: job } = await penstock.rest('POST', path, {
      key,
      body: { model: 'acme/paint', prompt: 'x' },
    });
    const done = await penstock.rest('GET', `/jobs/${String(job['id'])}?poll=true`, { key });
    expect(done.body).toMatchObject({ status: 'failed', errorMessage: TOLD });
    const { errors } = await penstock.graphql(
      'mutation { createEmbeddings(input: { model: "acme/embed", input: "x" }) { model } }',
      { key },
    );
    expect(errors.map(({ message }) => message)).toEqual([TOLD]);
    const agent = await makeAgent(penstock, key, { model: 'acme/chat' });
    expect((await runAgent(penstock, key, agent, { input: 'Hi' })).last).toEqual({
      type: 'error',
      error: TOLD,
    });
  });
});

describe('what an upstream says beside its tool calls', () => {
  const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }];
  const spoken = { role: 'assistant', content: 'Let me look.', tool_calls };
  const choices = [{ index: 0, message: spoken, finish_reason: 'tool_calls' }];
  const messages = [{ role: 'user', content: 'Hi' }];

  it('is no content of a whole answer, and is paid for as the upstream counts it', async () => {
    upstream.always({ body: completion('', { choices }) });
    const body = { model: 'acme/chat', messages };
    expect((await penstock.rest('POST', '/chat/completions', { key, body })).body).toMatchObject({
      choices: [{ message: { role: 'assistant', content: null, tool_calls }, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, credits_used: 1 },
    });
    const { data } = await penstock.graphql(
      `mutation { createChatCompletion(input: { model: "acme/chat", messages: [{ role: user, content: "Hi" }] }) {
        choices { message { content toolCalls } } usage { totalTokens } } }`,
      { key },
    );
    expect(data).toEqual({
      createChatCompletion: {
        choices: [{ message: { content: null, toolCalls: tool_calls } }],
        usage: { totalTokens: 15 },
      },
    });
  });

  it('is counted where the upstream counts nothing', async () => {
    const ask = async (message: object) => {
      upstream.always({ body: { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] } });
      const body = { model: 'acme/chat', messages };
      const answer = await penstock.rest('POST', '/chat/completions', { key, body });
      return (answer.body['usage'] as { completion_tokens: number }).completion_tokens;
    };
    expect(await ask(spoken)).toBeGreaterThan(await ask({ ...spoken, content: null }));
  });

  it('passes in a stream as it comes', async () => {
    upstream.always({
      chunks: [
        chunk({ role: 'assistant', content: 'Let me look.' }),
        chunk({ tool_calls: [{ index: 0, ...tool_calls[0] }] }),
        chunk({}, { finish_reason: 'tool_calls' }),
        DONE_EVENT,
      ],
    });
    const body = { model: 'acme/chat', messages, stream: true };
    const { events } = await penstock.events('POST', '/chat/completions', { key, body });
    let said = '';
    for await (const { data } of events) if (data !== '[DONE]') said += data;
    expect(said).toContain('Let me look.');
    expect(said).toContain('"finish_reason":"tool_calls"');
  });
});

describe('what an upstream asks for where no tools are offered', () => {
  const run = async (content: string | null) => {
    const calls = ['generate_text', 'invented'].map((name, index) => ({
      index,
      id: `c${index}`,
      type: 'function',
      function: { name, arguments: '{}' },
    }));
    upstream.always({
      chunks: [
        chunk({ role: 'assistant', content, tool_calls: calls }),
        chunk({}, { finish_reason: 'tool_calls' }),
        usageChunk(1000, 500),
        DONE_EVENT,
      ],
    });
    const given = { model: 'acme/chat', tools: ['generate_text'], max_iterations: 1 };
    return await runAgent(penstock, key, await makeAgent(penstock, key, given), { input: 'Hi' });
  };
  const NOTE = {
    type: 'thinking',
    content:
      'The model asked for "generate_text", which the last round does not offer.\nThe model asked for "invented", which this agent does not have.',
  };

  it('is noted beside the answer of a run', async () => {
    const { steps, last } = await run('Here you are.');
    expect(steps).toMatchObject([NOTE, { type: 'response', content: 'Here you are.' }]);
    expect(last).toMatchObject({ type: 'done', output: 'Here you are.' });
  });

  it('is no answer by itself: the run fails and is charged for what it did', async () => {
    const { steps, last, runId } = await run(null);
    expect(steps).toMatchObject([NOTE, { type: 'error', content: 'Generation failed' }]);
    expect(last).toEqual({ type: 'error', error: 'Generation failed' });
    const { nodes } = await penstock.services.usage.records({ orgId, first: 1000 });
    const rows = nodes.filter((row) => row.runId === runId);
    expect(rows.map(({ state }) => state)).toEqual(['settled', 'settled']);
    expect(rows.reduce((sum, { amounts }) => sum + (amounts.credits ?? 0), 0) / 100).toBe(4);
  });
});
