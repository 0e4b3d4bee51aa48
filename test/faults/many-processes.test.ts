import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCluster, tally, type Cluster } from './cluster.js';
import type { TestOrg } from '../support/installation.js';
import { startKafka } from '../support/kafka.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import type { SpawnedServer } from '../support/spawned.js';
import { eventually, inParallel } from '../support/wait.js';

const CERTIFICATE = new URL('../support/fixtures/receiver-cert.pem', import.meta.url).pathname;
const API = { role: 'api' as const };
const WORKER = { role: 'worker' as const };
const kafka = await startKafka();
afterAll(() => kafka?.stop());

/** Business with one chat window that a test can fill. */
const PLANS = { endpointLimits: { chat: { limit: 20, windowSeconds: 60 } } };

describe.each([
  ['without Kafka', {}],
  ['with Kafka', kafka === null ? null : { KAFKA_BROKERS: kafka.brokers.join(',') }],
])('three API processes and three workers %s', (_, env) => {
  let cluster: Cluster;
  let receiver: Receiver;
  let apis: SpawnedServer[];
  const org = (): Promise<TestOrg> => cluster.installation.createOrg({ plan: 'business_monthly' });

  beforeAll(async () => {
    if (env === null) return;
    receiver = await startReceiver();
    cluster = await startCluster([API, API, API, WORKER, WORKER, WORKER], {
      plans: PLANS,
      env: { ...env, EGRESS_ALLOW: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: CERTIFICATE },
    });
    apis = cluster.servers.slice(0, 3);
  }, 180_000);
  afterAll(async () => {
    await cluster?.close();
    await receiver?.close();
  });

  const api = (turn: number): SpawnedServer => apis[turn % apis.length] as SpawnedServer;

  test.skipIf(env === null)('an endpoint limit holds over all of them together', async () => {
    const { key } = await org();
    const body = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 };
    const answers = await inParallel(Array.from({ length: 45 }), 15, (_item, turn) =>
      api(turn).rest('POST', '/chat/completions', { key, body }),
    );
    expect(tally(answers)).toEqual({ 200: 20, '429 Rate limit exceeded': 25 });
  });

  test.skipIf(env === null)('a quota is spent once, whichever process was asked', async () => {
    const { key, orgId } = await org();
    await cluster.installation.cli(
      'quota',
      'set',
      '--org',
      orgId,
      '--bucket',
      'image_generations',
      '--used',
      '596',
    );
    const answers = await inParallel(Array.from({ length: 9 }), 9, (_item, turn) =>
      api(turn).rest('POST', '/images/generations', { key, body: { prompt: 'a mill', size: '512x512' } }),
    );
    expect(tally(answers)).toEqual({ 200: 4, '402 Quota exceeded for image_generations': 5 });
    for (const server of apis) {
      const { body } = await server.rest<{ quotas: Record<string, { used: number; remaining: number }> }>(
        'GET',
        '/quota',
        { key },
      );
      expect(body.quotas['image_generations']).toMatchObject({ used: 600, remaining: 0 });
    }
  });

  test.skipIf(env === null)('a key that was revoked is refused by every process at once', async () => {
    const { key, keyId } = await org();
    for (const server of apis) expect((await server.rest('GET', '/quota', { key })).status).toBe(200);
    await cluster.installation.cli('key', 'revoke', '--id', keyId);
    for (const server of apis) expect((await server.rest('GET', '/quota', { key })).status).toBe(401);
  });

  test.skipIf(env === null)(
    'a job made on one process is watched on another to its end, without a gap',
    async () => {
      const { key } = await org();
      const made = await api(0).rest<{ id: string }>('POST', '/images/generations?async=true', {
        key,
        body: { prompt: 'a mill @sandbox{"delay_ms": 300}', size: '512x512' },
      });
      expect(made.status).toBe(200);
      const variables = { id: made.body.id };
      const query = 'subscription ($id: ID!) { jobProgress(id: $id, after: 0) { sequence type } }';
      const seen = await Promise.all(
        [1, 2].map(async (turn) => {
          const items: { sequence: number; type: string }[] = [];
          const events = api(turn)
            .ws(key)
            .iterate<{ jobProgress: { sequence: number; type: string } }>({ query, variables });
          for await (const { data } of events) if (data) items.push(data.jobProgress);
          return items;
        }),
      );
      for (const items of seen) {
        expect(items.map(({ sequence }) => sequence)).toEqual(items.map((_item, index) => index + 1));
        expect(items[0]?.type).toBe('job.pending');
        expect(items.at(-1)?.type).toBe('job.completed');
      }
      const cancelled = await api(2).rest('DELETE', `/jobs/${made.body.id}`, { key });
      expect(cancelled).toMatchObject({ status: 400, body: { error: 'Cannot cancel completed job' } });
    },
  );

  test.skipIf(env === null)('each webhook event is sent once, though every worker could', async () => {
    const { key } = await org();
    const hook = {
      name: 'all',
      url: `${receiver.url}/${key.slice(-8)}`,
      events: ['generation.started', 'generation.completed'],
    };
    expect((await api(1).rest('POST', '/webhooks', { key, body: hook })).status).toBe(200);
    const answers = await inParallel(Array.from({ length: 8 }), 4, (_item, turn) =>
      api(turn).rest('POST', '/images/generations', {
        key,
        body: { prompt: `mill ${turn}`, size: '512x512' },
      }),
    );
    expect(tally(answers)).toEqual({ 200: 8 });
    const mine = () => receiver.requests.filter((request) => request.path.endsWith(key.slice(-8)));
    await eventually(() => mine().length >= 16);
    // A receiver has its event a moment before the attempt is written.
    await eventually(async () => {
      const [rows] = await cluster.installation.sql<{ pending: string }>(
        `SELECT count(*) AS pending FROM webhook_deliveries WHERE status = 'pending'`,
      );
      return rows?.pending === '0';
    });
    const ids = mine().map((request) => request.headers['x-service-event-id']);
    expect(ids).toHaveLength(16);
    expect(new Set(ids).size).toBe(16);
  });

  test.skipIf(env === null)(
    'a POST repeated on another process is answered with the first answer and charged once',
    async () => {
      const { key } = await org();
      const call = (turn: number) =>
        api(turn).rest<{ data: unknown }>('POST', '/images/generations', {
          key,
          body: { prompt: 'a dam', size: '512x512' },
          headers: { 'idempotency-key': 'once' },
        });
      const first = await call(0);
      const repeated = [await call(1), await call(2)];
      expect(first.status).toBe(200);
      for (const again of repeated) {
        expect(again).toMatchObject({ status: 200, body: first.body });
        expect(again.headers['idempotent-replayed']).toBe('true');
      }
      const { body } = await api(1).rest<{ quotas: Record<string, { used: number }> }>('GET', '/quota', {
        key,
      });
      expect(body.quotas['image_generations']?.used).toBe(1);
    },
  );
});
