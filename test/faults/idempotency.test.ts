import { afterAll, beforeAll, expect, test } from 'vitest';
import { inParallel } from '../support/wait.js';
import { startCluster, tally, type Cluster } from './cluster.js';

const RETRIES = 200;

let cluster: Cluster;
/** One address for all, as behind a balancer: the files' URLs in equal answers are equal. */
const env = { PUBLIC_URL: 'http://127.0.0.1:4000' };
beforeAll(async () => {
  cluster = await startCluster([
    { role: 'api', env },
    { role: 'api', env },
    { role: 'all', env },
  ]);
});
afterAll(() => cluster?.close());

interface Quota {
  quotas: Record<string, { used: number }>;
}

test('200 concurrent POSTs with one Idempotency-Key at three processes make one job and one charge', async () => {
  const { key } = await cluster.installation.createOrg();
  const answers = await inParallel(Array.from({ length: RETRIES }), RETRIES, () =>
    cluster.next().rest('POST', '/images/generations', {
      key,
      headers: { 'idempotency-key': 'one-picture' },
      body: { prompt: 'a surge tank', size: '512x512', seed: 7 },
    }),
  );

  const given = answers.filter(({ status }) => status === 200);
  const inFlight = answers.filter(({ status }) => status === 409);
  expect(given.length + inFlight.length, JSON.stringify(tally(answers))).toBe(RETRIES);
  expect(given.length).toBeGreaterThan(0);
  expect(new Set(given.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  expect(inFlight.every(({ headers }) => Number(headers['retry-after']) >= 1)).toBe(true);
  const jobs = await cluster.next().rest<{ jobs: unknown[] }>('GET', '/jobs?limit=100', { key });
  expect(jobs.body.jobs).toHaveLength(1);
  const quota = await cluster.next().rest<Quota>('GET', '/quota', { key });
  expect(quota.body.quotas['image_generations']?.used).toBe(1);
});

test('a chat that was retried 200 times is charged once and gives equal answers', async () => {
  const { key } = await cluster.installation.createOrg();
  const call = () =>
    cluster.next().rest<Record<string, unknown>>('POST', '/chat/completions', {
      key,
      headers: { 'idempotency-key': 'one-answer' },
      body: { messages: [{ role: 'user', content: '@sandbox{"tokens":20,"delay_ms":200} hello' }] },
    });
  const answers = await inParallel(Array.from({ length: RETRIES }), RETRIES, call);
  const last = await call();

  const accounted = answers.filter(({ status }) => status === 200 || status === 409);
  expect(accounted, JSON.stringify(tally(answers))).toHaveLength(RETRIES);
  expect(last.status).toBe(200);
  expect(last.headers['idempotent-replayed']).toBe('true');
  const texts = new Set(
    [...answers.filter(({ status }) => status === 200), last].map(({ body }) => JSON.stringify(body)),
  );
  expect(texts.size).toBe(1);
  const quota = await cluster.next().rest<Quota>('GET', '/quota', { key });
  expect(quota.body.quotas['credits']?.used).toBe(1);
});
