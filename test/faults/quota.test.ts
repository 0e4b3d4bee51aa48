import { afterAll, beforeAll, expect, test } from 'vitest';
import { inParallel } from '../support/wait.js';
import { startCluster, tally, type Cluster } from './cluster.js';

const CALLS = 1000;

interface Quota {
  quotas: Record<string, { used: number; remaining: number; limit: number }>;
}

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([{ role: 'api' }, { role: 'api' }, { role: 'all' }]);
});
afterAll(() => cluster?.close());

test('with one unit left, 1,000 concurrent calls at three processes get one acceptance and 999 refusals', async () => {
  const { orgId, key } = await cluster.installation.createOrg();
  const limit = 1_000_000;
  await cluster.installation.cli(
    'quota',
    'set',
    '--org',
    orgId,
    '--bucket',
    'image_generations',
    '--used',
    String(limit - 1),
  );

  const answers = await inParallel(Array.from({ length: CALLS }), CALLS, () =>
    cluster
      .next()
      .rest('POST', '/images/generations?async=true', { key, body: { prompt: 'a wheel', size: '512x512' } }),
  );

  expect(tally(answers)).toEqual({ 200: 1, '402 Quota exceeded for image_generations': CALLS - 1 });
  const accepted = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 402);
  expect(refused[0]?.body).toMatchObject({
    error: 'Quota exceeded for image_generations',
    code: 'quota_exceeded',
    remaining: 0,
  });
  const job = await cluster.next().rest('GET', `/jobs/${String(accepted[0]?.body['id'])}?poll=true`, { key });
  expect(job.body['status']).toBe('completed');
  const quota = await cluster.next().rest<Quota>('GET', '/quota', { key });
  expect(quota.body.quotas['image_generations']).toMatchObject({ used: limit, remaining: 0 });
});

test('the credits of 600 concurrent chat calls at three processes never pass the allowance, and the ledger adds up to the bucket', async () => {
  const { orgId, key } = await cluster.installation.createOrg();
  const left = 100;
  await cluster.installation.cli(
    'quota',
    'set',
    '--org',
    orgId,
    '--bucket',
    'credits',
    '--used',
    String(10_000_000 - left),
  );
  const body = { messages: [{ role: 'user', content: '@sandbox{"tokens":5} hello' }], max_tokens: 5 };

  const answers = await inParallel(Array.from({ length: 600 }), 600, () =>
    cluster.next().rest('POST', '/chat/completions', { key, body }),
  );

  expect(tally(answers)).toEqual({ 200: left, '402 Quota exceeded for chat_tokens': 600 - left });
  const quota = await cluster.next().rest<Quota>('GET', '/quota', { key });
  expect(quota.body.quotas['credits']).toMatchObject({ used: 10_000_000, remaining: 0 });
});
