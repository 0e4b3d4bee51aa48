/** Every kind of model's work, and agents, as spans by OpenTelemetry's GenAI conventions: through the job, over OTLP to a collector. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { startCollector, type CollectedSpan, type Collector } from '../support/collector.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const [INTERNAL, CLIENT] = [1, 3];
const WORDS = 'heron under the sluice';
let collector: Collector;
let server: TestServer;
let key: string;

beforeAll(async () => {
  collector = await startCollector();
  server = await startPenstock({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint } });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await server.close();
  await collector.close();
});

/** A trace of the caller's own, and the spans that become part of it. */
function trace() {
  const id = randomBytes(16).toString('hex');
  const named = (name: string): CollectedSpan[] =>
    collector.spans.filter((span) => span.traceId === id && span.name === name);
  return {
    headers: { traceparent: `00-${id}-b7ad6b7169203331-01` },
    named,
    find: (name: string) => eventually(() => named(name)[0], { what: `span ${name}` }),
  };
}

test('embeddings are a client span inside of the request, with tokens and dimensions', async () => {
  const { headers, find } = trace();
  const body = { input: WORDS, dimensions: 64 };
  const answer = await server.rest<{ model: string; usage: { prompt_tokens: number } }>(
    'POST',
    '/embeddings',
    { key, headers, body },
  );
  expect(answer.status).toBe(200);
  const name = answer.body.model.split('/')[1];
  const span = await find(`embeddings sandbox/${name}`);
  expect(span).toMatchObject({ kind: CLIENT, parentSpanId: (await find('POST /api/v1/embeddings')).spanId });
  expect(span.attributes).toMatchObject({
    'gen_ai.operation.name': 'embeddings',
    'gen_ai.provider.name': 'sandbox',
    'gen_ai.usage.input_tokens': String(answer.body.usage.prompt_tokens),
    'gen_ai.embeddings.dimension.count': '64',
  });
  expect(span.attributes).not.toHaveProperty(['gen_ai.output.type']);
});

const KINDS = [
  ['image', '/images/generations', { prompt: WORDS, size: '512x512', n: 2, seed: 7 }, 'image'],
  ['video', '/videos/generations', { prompt: WORDS, duration_seconds: 1 }, 'video'],
  ['music', '/music/generations', { prompt: WORDS, duration_seconds: 1 }, 'music'],
  ['tts', '/audio/speech', { input: WORDS }, 'speech'],
] as const;

test.each(KINDS)(
  '%s is a client span inside of its job, which is inside of the request',
  async (tool, path, body, output) => {
    const { headers, find } = trace();
    const answer = await server.rest<{ model: string }>('POST', path, { key, headers, body });
    expect(answer.status).toBe(200);
    const job = await find(`job ${tool}`);
    expect(job.parentSpanId).toBe((await find(`POST /api/v1${path}`)).spanId);
    const span = await find(`generate_content ${answer.body.model}`);
    expect(span).toMatchObject({ kind: CLIENT, parentSpanId: job.spanId });
    expect(span.attributes).toMatchObject({
      'gen_ai.operation.name': 'generate_content',
      'gen_ai.provider.name': 'sandbox',
      'gen_ai.request.model': answer.body.model,
      'gen_ai.output.type': output,
      ...(tool === 'image' && { 'gen_ai.request.choice.count': '2', 'gen_ai.request.seed': '7' }),
    });
  },
);

test('a transcription is a client span inside of its job, and its output is text', async () => {
  const { headers, find } = trace();
  const spoken = await server.rest<{ audio_url: string }>('POST', '/audio/speech', {
    key,
    body: { input: WORDS },
  });
  const body = { file: spoken.body.audio_url };
  const answer = await server.rest<{ model: string }>('POST', '/audio/transcriptions', {
    key,
    headers,
    body,
  });
  expect(answer.status).toBe(200);
  const span = await find(`generate_content ${answer.body.model}`);
  expect(span).toMatchObject({ kind: CLIENT, parentSpanId: (await find('job stt')).spanId });
  expect(span.attributes).toMatchObject({ 'gen_ai.output.type': 'text' });
});

test('a run is an agent’s span of the trace that started it, with its model calls and its tool inside', async () => {
  const { headers, find, named } = trace();
  const id = await makeAgent(server, key, { name: 'Keeper', tools: ['generate_image', 'web_fetch'] });
  const call = { name: 'generate_image', arguments: { prompt: WORDS } };
  const input = `@sandbox${JSON.stringify({ tool_call: call })}`;
  const run = await runAgent(server, key, id, { input }, headers);
  expect(run.last.type).toBe('done');
  const agent = await find('invoke_agent Keeper');
  expect(agent).toMatchObject({
    kind: INTERNAL,
    parentSpanId: (await find('POST /api/v1/agents/{id}/run')).spanId,
    status: {},
  });
  expect(agent.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'sandbox',
    'gen_ai.agent.id': id,
    'gen_ai.agent.name': 'Keeper',
    'gen_ai.conversation.id': run.events[0]!.session_id,
    'penstock.run.id': run.runId,
  });
  const chats = named(`chat ${String(agent.attributes['gen_ai.request.model'])}`);
  expect(chats).toHaveLength(2);
  for (const chat of chats) expect(chat.parentSpanId).toBe(agent.spanId);
  const tool = await find('execute_tool generate_image');
  expect(tool).toMatchObject({ kind: INTERNAL, parentSpanId: agent.spanId });
  expect(tool.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'generate_image',
    'gen_ai.tool.call.id': expect.any(String),
    'gen_ai.tool.type': 'function',
  });
  const image = collector.spans.find(({ parentSpanId }) => parentSpanId === tool.spanId);
  expect(image?.name).toMatch(/^generate_content sandbox\//);
});

test('a run that fails and a tool that fails say with what, and nothing shows what was written', async () => {
  const { headers, find } = trace();
  const id = await makeAgent(server, key, { name: 'Failing', tools: ['web_fetch'] });
  const call = { name: 'web_fetch', arguments: { url: 'https://127.0.0.1/' } };
  const input = `@sandbox${JSON.stringify({ tool_call: call })}`;
  await runAgent(server, key, id, { input }, headers);
  const tool = await find('execute_tool web_fetch');
  expect(tool).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': expect.any(String) } });
  const failing = trace();
  const directive = `${WORDS} @sandbox{"fail": "out of order"}`;
  expect((await runAgent(server, key, id, { input: directive }, failing.headers)).last.type).toBe('error');
  const run = await failing.find('invoke_agent Failing');
  expect(run).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'UpstreamError' } });
  expect(JSON.stringify(collector.spans)).not.toContain(WORDS);
  expect(JSON.stringify(collector.spans)).not.toContain(key);
});
