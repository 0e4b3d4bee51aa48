import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import { createInstallation, freePort } from '../support/installation.js';
import type { Installation } from '../support/installation.js';
import { startKafka } from '../support/kafka.js';
import { spawnPenstock } from '../support/spawned.js';
import type { SpawnedServer } from '../support/spawned.js';

let installation: Installation;
let upstream: FakeUpstream;
beforeAll(async () => {
  upstream = await startFakeUpstream();
  const picture = await sharp({ create: { width: 512, height: 512, channels: 3, background: '#336699' } })
    .png()
    .toBuffer();
  upstream.always({ body: { created: 1, data: [{ b64_json: picture.toString('base64') }] } });
  const models = [{ id: 'up/image', upstreamId: 'image', type: 'image', tier: 'basic' }];
  const provider = { id: 'up', kind: 'openai-compatible', baseUrl: upstream.baseUrl, apiKey: 'sk', models };
  installation = await createInstallation({
    providers: { providers: [provider] },
    plans: { endpointLimits: { image: { limit: 1000, windowSeconds: 60 } } },
  });
});
afterAll(async () => {
  await installation?.close();
  await upstream?.close();
});

/** API and worker in processes of their own. */
async function apart(brokers: string, use: (api: SpawnedServer, key: string) => Promise<void>) {
  const env = { KAFKA_BROKERS: brokers };
  const worker = await spawnPenstock(installation, { role: 'worker', env });
  try {
    const api = await spawnPenstock(installation, { role: 'api', env });
    try {
      const { key } = await installation.createOrg({ plan: 'business_monthly' });
      // What decodes pictures has started.
      for (let n = 0; n < 2; n++) await generate(api, key);
      await use(api, key);
    } finally {
      await api.close();
    }
  } finally {
    await worker.close();
  }
}

/** A synchronous image: how long its caller waited for it, and its job for a worker, in ms. */
async function generate(api: SpawnedServer, key: string) {
  const began = performance.now();
  const body = { prompt: 'a mill', model: 'up/image', size: '512x512' };
  const answer = await api.rest('POST', '/images/generations', { key, body });
  const waited = performance.now() - began;
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const [job] = await installation.sql<{ pending: number }>(
    `SELECT extract(epoch FROM started_at - created_at)::float8 * 1000 AS pending FROM jobs WHERE id = $1`,
    [answer.headers['x-job-id']],
  );
  return { waited, pending: job!.pending };
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/**
 * Workers look for jobs by themselves every two seconds, and who waits for one looks every second: with hints it is neither, and the bound
 * is one that a busy machine keeps.
 */
async function expectNoWaiting(api: SpawnedServer, key: string): Promise<void> {
  const calls: Awaited<ReturnType<typeof generate>>[] = [];
  for (let n = 0; n < 9; n++) calls.push(await generate(api, key));
  if (process.env['TEST_LOG']) console.error(calls);
  expect(median(calls.map(({ pending }) => pending))).toBeLessThan(500);
  expect(median(calls.map(({ waited }) => waited))).toBeLessThan(1_500);
}

test(
  "a synchronous call does not wait for a broker that is away, nor for anybody's next look",
  { timeout: 240_000 },
  async () => await apart(`127.0.0.1:${await freePort()}`, expectNoWaiting),
);

const kafka = await startKafka();
afterAll(() => kafka?.stop());

test.skipIf(kafka === null)(
  'nor for one that stops answering, or dies, while calls come',
  { timeout: 300_000 },
  () =>
    apart(kafka!.brokers.join(), async (api, key) => {
      const calls = Array.from({ length: 8 }, () => generate(api, key));
      kafka!.pause();
      await Promise.all(calls);
      await expectNoWaiting(api, key);
      await kafka!.kill();
      await expectNoWaiting(api, key);
    }),
);
