/** One trace from the caller through the job, Kafka and the webhook to the upstream, and how far consumers are behind, with a real broker. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { completion, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { startKafka, type TestKafka } from '../support/kafka.js';
import { startReceiver, trustReceivers, type Receiver } from '../support/receiver.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
const kafka = await startKafka();

interface Seen {
  topic: string;
  key: string | undefined;
  headers: Record<string, string>;
  value: { id: string; type: string; sequence?: number; orgId: string; data: Record<string, unknown> };
}

describe.skipIf(kafka === null)('with Kafka', () => {
  const broker = kafka as TestKafka;
  const collector = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  let server: TestServer;
  let receiver: Receiver;
  let upstream: FakeUpstream;
  let key: string;
  let orgId: string;
  let jobId: string;
  let runId: string;
  /** What the topics had of one job and one run. */
  const seen: Seen[] = [];

  beforeAll(async () => {
    trustReceivers();
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    const { port } = collector.address() as AddressInfo;
    receiver = await startReceiver();
    upstream = await startFakeUpstream();
    const model = {
      id: 'acme/chat-1',
      upstreamId: 'c',
      type: 'chat',
      tier: 'basic',
      multiplier: 1,
      contextWindow: 4000,
    };
    const { baseUrl } = upstream;
    server = await startPenstock({
      env: {
        KAFKA_BROKERS: broker.brokers.join(','),
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        EGRESS_ALLOW: '127.0.0.0/8',
      },
      providers: {
        providers: [{ id: 'acme', kind: 'openai-compatible', baseUrl, apiKey: 'none', models: [model] }],
      },
    });
    ({ key, orgId } = await server.createOrg({ plan: 'business_monthly' }));
  });
  afterAll(async () => {
    // Its idle connection would be held for 6 s, and be taken for one that the product left open.
    collector.closeIdleConnections();
    collector.keepAliveTimeout = 1;
    await server.close();
    await receiver.close();
    await upstream.close();
    await new Promise((resolve) => collector.close(resolve));
    await broker.stop();
  });

  it('the caller’s trace goes with the messages of its job, its run and its chats, with the webhooks, and to the upstream', async () => {
    const events = [
      'generation.completed',
      'agent.run.completed',
      'chat.message.created',
      'chat.conversation.created',
    ];
    const hook = { name: 'h', url: receiver.url, events };
    expect((await server.rest('POST', '/webhooks', { key, body: hook })).status).toBe(200);
    const body = { prompt: 'a mill', size: '512x512' };
    const made = await server.rest('POST', '/images/generations', { key, headers: PARENT, body });
    expect(made.status).toBe(200);
    jobId = String(made.headers['x-job-id']);
    const agent = await makeAgent(server, key);
    ({ runId } = await runAgent(server, key, agent, { input: 'hello' }, PARENT));

    upstream.always({ body: completion('Hello') });
    const chat = { model: 'acme/chat-1', messages: [{ role: 'user', content: 'Hi' }] };
    const asked = { key, headers: PARENT, body: chat };
    expect((await server.rest('POST', '/chat/completions', asked)).status).toBe(200);
    expect(upstream.requests[0]!.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    const streamed = { ...asked, body: { ...chat, model: 'sandbox/chat-basic', stream: true } };
    expect((await server.rest('POST', '/chat/completions', streamed)).status).toBe(200);

    const consumer = new Kafka({ brokers: broker.brokers, logLevel: logLevel.NOTHING }).consumer({
      groupId: 'witness',
    });
    try {
      await consumer.connect();
      await consumer.subscribe({
        topics: ['penstock.jobs', 'penstock.agents', 'penstock.events'],
        fromBeginning: true,
      });
      await consumer.run({
        async eachMessage({ topic, message }) {
          const value = JSON.parse(String(message.value)) as Seen['value'];
          const messageKey = message.key?.toString();
          const about = [messageKey, value.data['jobId'], value.data['runId']];
          if (!about.includes(jobId) && !about.includes(runId) && !value.type.startsWith('chat.')) return;
          // They come at least once (docs/operations.md): a slow broker's answer may be waited for in vain.
          if (seen.some((one) => one.topic === topic && one.value.id === value.id)) return;
          const headers = Object.entries(message.headers ?? {}).map(([name, one]) => [name, String(one)]);
          seen.push({ topic, key: messageKey, headers: Object.fromEntries(headers), value });
        },
      });
      await eventually(
        () =>
          ['job.completed', 'run.started', 'run.completed', ...events].every((wanted) =>
            seen.some(({ value }) => value.type === wanted),
          ),
        { timeoutMs: 30_000, what: 'the messages' },
      );
    } finally {
      await consumer.disconnect();
    }
    for (const { headers } of seen)
      expect(headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    await eventually(() => receiver.requests.length === 5);
    for (const delivered of receiver.requests)
      expect(delivered.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  });

  it('messages are numbered without a hole, named in their headers, keyed, and show the job as the API does', async () => {
    const on = (topic: string) => seen.filter((message) => message.topic === topic);
    const job = on('penstock.jobs');
    const run = on('penstock.agents');
    for (const [messages, about] of [
      [job, jobId],
      [run, runId],
    ] as const) {
      expect(messages.map(({ value }) => value.sequence)).toEqual(messages.map((_, index) => index + 1));
      expect(new Set(messages.map((message) => message.key))).toEqual(new Set([about]));
    }
    expect(job.map(({ value }) => value.type)).toEqual(
      expect.arrayContaining(['job.pending', 'job.processing', 'job.completed']),
    );
    expect(run[0]?.value.type).toBe('run.started');
    expect(run.at(-1)?.value.type).toBe('run.completed');
    const shown = await server.rest('GET', `/jobs/${jobId}`, { key });
    expect(job.at(-1)?.value.data).toEqual(shown.body);
    for (const { headers, value } of seen)
      expect([headers['event-id'], headers['event-type'], value.orgId]).toEqual([
        value.id,
        value.type,
        orgId,
      ]);
    for (const message of on('penstock.events')) {
      expect(message.key).toBe(orgId);
      expect(Object.keys(message.value).sort()).toEqual(['data', 'id', 'orgId', 'timestamp', 'type']);
    }
  });

  it('/metrics tells how far each consumer is behind', async () => {
    await eventually(
      async () => {
        await server.rest('POST', '/images/generations', {
          key,
          body: { prompt: 'a mill', size: '512x512' },
        });
        const response = await server.raw('/metrics', { method: 'GET' });
        const text = await response.body.text();
        return /^penstock_kafka_consumer_lag\{group="broadcast",topic="penstock.jobs",partition="\d",role="all"\} 0$/m.test(
          text,
        );
      },
      { timeoutMs: 30_000, everyMs: 250, what: 'the lag of the subscription hub' },
    );
  });
});
