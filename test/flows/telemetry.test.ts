import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCollector, type CollectedSpan, type Collector } from '../support/collector.js';
import { startReceiver, trustReceivers } from '../support/receiver.js';
import type { Receiver } from '../support/receiver.js';
import { createInstallation } from '../support/installation.js';
import { startPenstock } from '../support/server.js';
import { spawnPenstock } from '../support/spawned.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
let collector: Collector;
let server: TestServer;
let receiver: Receiver;
let key: string;

beforeAll(async () => {
  trustReceivers();
  collector = await startCollector();
  receiver = await startReceiver();
  server = await startPenstock({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, EGRESS_ALLOW: '127.0.0.0/8' },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await server.close();
  await receiver.close();
  await collector.close();
});

const find = (name: string): Promise<CollectedSpan> =>
  eventually(() => collector.spans.find((span) => span.name === name && span.traceId === TRACE), {
    what: `span ${name}`,
  });

test("a chat is one trace with its caller's: request, admission, and the model's call by the GenAI conventions", async () => {
  const answer = await server.rest('POST', '/chat/completions', {
    key,
    headers: { traceparent: `00-${TRACE}-${CALLER}-01` },
    body: { messages: [{ role: 'user', content: 'secret words' }], temperature: 0.5, max_tokens: 50 },
  });
  expect(answer.status).toBe(200);
  const request = await find('POST /api/v1/chat/completions');
  expect(request).toMatchObject({ parentSpanId: CALLER, kind: 2 });
  expect(request.attributes['http.response.status_code']).toBe('200');
  expect(await find('admission')).toMatchObject({ parentSpanId: request.spanId });
  const chat = await find('chat sandbox/chat-basic');
  expect(chat).toMatchObject({ parentSpanId: request.spanId, kind: 3 });
  const usage = answer.body['usage'] as Record<string, number>;
  expect(chat.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'sandbox',
    'gen_ai.request.model': 'sandbox/chat-basic',
    'gen_ai.request.temperature': '0.5',
    'gen_ai.usage.input_tokens': String(usage['prompt_tokens']),
    'gen_ai.usage.output_tokens': String(usage['completion_tokens']),
  });
  expect(JSON.stringify(collector.spans)).not.toContain('secret words');
  expect(JSON.stringify(collector.spans)).not.toContain(key);
});

test('a job, its events and its webhook belong to the trace that made it, and the receiver hears of it', async () => {
  const hook = { name: 'h', url: receiver.url, events: ['generation.completed'] };
  expect((await server.rest('POST', '/webhooks', { key, body: hook })).status).toBe(200);
  const made = await server.rest('POST', '/images/generations', {
    key,
    headers: { traceparent: `00-${TRACE}-${CALLER}-01` },
    body: { prompt: 'a mill', size: '512x512' },
  });
  expect(made.status).toBe(200);
  const request = await find('POST /api/v1/images/generations');
  expect(await find('job image')).toMatchObject({ parentSpanId: request.spanId });
  expect(await find('send jobs')).toMatchObject({
    parentSpanId: request.spanId,
    kind: 4,
    attributes: {
      'messaging.system': 'penstock',
      'messaging.destination.name': 'jobs',
      'messaging.operation.type': 'send',
    },
  });
  const delivery = await find('POST webhook');
  const [received] = await eventually(() => receiver.requests.length > 0 && receiver.requests);
  expect(received!.headers['traceparent']).toBe(`00-${TRACE}-${delivery.spanId}-01`);
});

test('a job that is made over a WebSocket belongs to the trace that its operation names', async () => {
  const socket = server.ws(key);
  const other = 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb';
  const events = socket.iterate({
    query: `mutation { generateImage(input: {prompt: "a sluice", size: "512x512"}, async: true) { job { id } } }`,
    extensions: { traceparent: `00-${other}-${CALLER}-01` },
  });
  const { value } = (await events.next()) as { value: { data: { generateImage: { job: { id: string } } } } };
  const { id } = value.data.generateImage.job;
  const spanOf = (name: string) =>
    eventually(() => collector.spans.find((span) => span.name === name && span.traceId === other), {
      what: `${name} of the WebSocket's trace`,
    });
  const operation = await spanOf('WS /graphql');
  expect(operation).toMatchObject({ parentSpanId: CALLER, kind: 2 });
  const job = await spanOf('job image');
  expect(job).toMatchObject({ parentSpanId: operation.spanId });
  expect(job.attributes['penstock.job.id']).toBe(id);
});

test('a caller that does not sample is followed, not exported', async () => {
  const other = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
  await server.rest('GET', '/quota', { key, headers: { traceparent: `00-${other}-${CALLER}-00` } });
  await server.rest('GET', '/quota', { key, headers: { traceparent: `00-${TRACE}-${CALLER}-01` } });
  await find('GET /api/v1/quota');
  expect(collector.spans.some((span) => span.traceId === other)).toBe(false);
});

async function metrics(): Promise<string> {
  const response = await server.raw('/metrics', { method: 'GET' });
  expect(response.statusCode).toBe(200);
  return await response.body.text();
}

test('/metrics counts admissions, jobs, deliveries and requests by pattern, and never shows what a caller wrote', async () => {
  await server.rest('GET', '/jobs/job_somebody-wrote-this', { key });
  await server.rest('GET', '/nowhere-at-all', { key });
  const text = await eventually(async () => {
    const now = await metrics();
    return (
      /penstock_delivery_attempts_total\{[^}]*succeeded/.test(now) &&
      /route="\/api\/v1\/\{unknown\}"/.test(now) &&
      now
    );
  });
  const value = (pattern: string): number => Number(new RegExp(`^${pattern} (.*)$`, 'm').exec(text)?.[1]);
  expect(value('penstock_admissions_total\\{outcome="admitted",role="all"\\}')).toBeGreaterThanOrEqual(2);
  expect(value('penstock_jobs_finished_total\\{tool="image",outcome="completed",role="all"\\}')).toBe(2);
  expect(value('penstock_jobs_pending\\{tool="image",role="all"\\}')).toBe(0);
  expect(value('penstock_database_up\\{role="all"\\}')).toBe(1);
  expect(value('penstock_admission_batch_size_count\\{role="all"\\}')).toBeGreaterThanOrEqual(2);
  for (const name of [
    'penstock_outbox_rows',
    'penstock_outbox_age_seconds',
    'penstock_deliveries_pending',
    'penstock_event_loop_utilization',
  ])
    expect(text).toContain(`\n${name}{role="all"} `);
  expect(text).toContain('method="GET",route="/api/v1/jobs/{jobId}",status="404"');
  expect(text).not.toContain('somebody-wrote-this');
  expect(text).not.toContain('nowhere-at-all');
});

test('open subscriptions and what they are sent are counted', async () => {
  const job = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key,
    body: { prompt: 'a dam @sandbox{"delay_ms": 3000}' },
  });
  const events = server.ws(key).iterate({
    query: 'subscription ($id: ID!) { jobProgress(id: $id) { sequence } }',
    variables: { id: job.body.id },
  });
  await events.next();
  expect(await metrics()).toMatch(/^penstock_subscriptions_open\{role="all"\} 1$/m);
  await events.return?.();
  await eventually(async () => /^penstock_subscriptions_open\{role="all"\} 0$/m.test(await metrics()));
  expect(await metrics()).toMatch(/^penstock_subscription_events_total\{role="all"\} [1-9]/m);
});

test('a file that is fetched where logs, metrics and traces watch is no leak to Node', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): unknown => warnings.push(warning);
  process.on('warning', note);
  try {
    const made = await server.rest<{ data: { url: string }[] }>('POST', '/images/generations', {
      key,
      body: { prompt: 'a mill', size: '512x512' },
    });
    const { pathname, search } = new URL(made.body.data[0]!.url);
    const file = await server.raw(pathname + search, { method: 'GET' });
    expect((await file.body.arrayBuffer()).byteLength).toBeGreaterThan(1000);
  } finally {
    process.off('warning', note);
  }
  expect(warnings).toEqual([]);
});

test("the SDK's own variables set headers, compression, resource attributes and the sampler", async () => {
  const installation = await createInstallation();
  const sampling = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.endpoint}/v1/traces`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=mill',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=weir',
    OTEL_SERVICE_NAME: 'sluice',
  };
  const all = await spawnPenstock(installation, { env: sampling });
  await (await all.raw('/api/v1/models', { method: 'GET' })).body.dump();
  await all.close();
  const sent = collector.requests.filter(({ headers }) => headers['x-tenant'] === 'mill');
  expect(sent.length).toBeGreaterThan(0);
  expect(sent[0]?.headers['content-encoding']).toBe('gzip');
  expect(sent[0]?.resource).toMatchObject({ 'service.name': 'sluice', 'deployment.environment': 'weir' });

  const before = collector.requests.length;
  const none = await spawnPenstock(installation, { env: { ...sampling, OTEL_TRACES_SAMPLER: 'always_off' } });
  await (await none.raw('/api/v1/models', { method: 'GET' })).body.dump();
  await none.close();
  expect(collector.requests.slice(before).some(({ headers }) => headers['x-tenant'] === 'mill')).toBe(false);
  await installation.close();
}, 90_000);
