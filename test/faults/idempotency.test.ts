import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { eventually, inParallel, seededRandom } from '../support/wait.js';
import { startCluster, tally, type Cluster } from './cluster.js';
import { record, scaled } from './scale.js';

const RETRIES = 200;
const KILLS = scaled(6, 2);
const CALLERS = 48;

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

test(`chats under way in ${KILLS} kills, ${CALLERS} at a time and each with its key, are charged once when they are retried`, async () => {
  const { key, orgId } = await cluster.installation.createOrg();
  const random = seededRandom(11);
  const keys: string[] = [];
  const given = new Map<string, string>();
  const ask = async (server: SpawnedServer, name: string) => {
    const { status, body } = await server.rest('POST', '/chat/completions', {
      key,
      headers: { 'idempotency-key': name },
      body: { messages: [{ role: 'user', content: `@sandbox{"tokens":5} ${name}` }] },
    });
    return { status, text: JSON.stringify(body) };
  };
  for (let kill = 0; kill < KILLS; kill++) {
    const doomed = await spawnPenstock(cluster.installation, { role: 'api', env });
    let isAlive = true;
    const work = Array.from({ length: CALLERS }, async (_, caller) => {
      for (let turn = 0; isAlive; turn++) {
        const name = `${kill}-${caller}-${turn}`;
        keys.push(name);
        const answer = await ask(doomed, name).catch(() => null);
        if (answer?.status === 200) given.set(name, answer.text);
      }
    });
    await sleep(500 + random() * 500);
    await doomed.signal('SIGKILL');
    isAlive = false;
    await Promise.all(work);
    await doomed.close();
  }
  const again = await inParallel(keys, 16, (name) =>
    eventually(
      async () => {
        const answer = await ask(cluster.next(), name);
        return answer.status !== 409 && answer;
      },
      { everyMs: 1000, timeoutMs: 60_000 },
    ),
  );

  expect(again.every(({ status }) => status === 200)).toBe(true);
  for (const [i, name] of keys.entries()) if (given.has(name)) expect(again[i]?.text).toBe(given.get(name));
  // What died between its admission and its charge is given back by the sweep.
  const counts = await eventually(
    async () => {
      const rows = await cluster.installation.sql<{ state: string; n: string }>(
        `SELECT state, count(*) AS n FROM usage_ledger WHERE org_id = $1 AND kind = 'chat' GROUP BY state`,
        [orgId],
      );
      const found = Object.fromEntries(rows.map(({ state, n }) => [state, Number(n)]));
      return found['reserved'] === undefined && found;
    },
    { everyMs: 500, timeoutMs: 60_000 },
  );
  record({ keyedChats: keys.length, lostOnTheWay: keys.length - given.size, ...counts });
  expect(counts['settled']).toBe(keys.length);
});
