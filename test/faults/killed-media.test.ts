import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { mediaJobs } from '../support/media-jobs.js';
import { eventually, seededRandom } from '../support/wait.js';
import { RAISED_PLANS, startCluster, type Cluster } from './cluster.js';
import { record, scaled } from './scale.js';

const ROUNDS = scaled(10, 1);
const KILLS = scaled(12, 2);
const WORKER = { role: 'worker' as const };
const FREELY = { limit: 1_000_000, windowSeconds: 60 };
const TOOLS = ['image_edit', 'video', 'music', 'tts', 'stt'];
let cluster: Cluster;

beforeAll(async () => {
  const endpointLimits = Object.fromEntries(['image', ...TOOLS].map((tool) => [tool, FREELY]));
  cluster = await startCluster([{ role: 'api' }, WORKER, WORKER], {
    plans: { ...RAISED_PLANS, endpointLimits },
  });
});
afterAll(() => cluster?.close());

test(`${ROUNDS} jobs of each tool through ${KILLS} kills of workers at any point: none lost, each charged once, every file there`, async () => {
  const { key, orgId } = await cluster.installation.createOrg({ plan: 'business_monthly' });
  const { sql } = cluster.installation;
  const [api] = cluster.servers;
  const random = seededRandom(3);
  const ids: string[] = [];
  for (let round = 0; round < ROUNDS; round++)
    for (const { path, body } of await mediaJobs(Math.floor(random() * 1500))) {
      const answer = await api!.rest<{ id: string }>('POST', `${path}?async=true`, { key, body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      ids.push(answer.body.id);
    }
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(random() * 1500);
    const [victim] = cluster.servers.splice(1 + Math.floor(random() * 2), 1);
    await victim!.signal('SIGKILL');
    await victim!.close();
    await cluster.add(WORKER);
  }
  await eventually(
    async () => {
      const [row] = await sql<{ open: string }>(
        `SELECT count(*) AS open FROM jobs WHERE org_id = $1 AND status IN ('pending', 'processing')`,
        [orgId],
      );
      return row?.open === '0';
    },
    { timeoutMs: 120_000 + ids.length * 3000, everyMs: 500, what: 'the end of all jobs' },
  );
  const jobs = await sql<{
    id: string;
    tool: string;
    status: string;
    attempt: number;
    settled: string;
    others: string;
  }>(
    `SELECT j.id, j.tool, j.status, j.attempt,
       count(u.operation_id) FILTER (WHERE u.state = 'settled') AS settled, count(u.operation_id) FILTER (WHERE u.state <> 'settled') AS others
     FROM jobs j LEFT JOIN usage_ledger u ON u.job_id = j.id WHERE j.org_id = $1 GROUP BY j.id`,
    [orgId],
  );
  expect(jobs).toHaveLength(ids.length);
  // Three lost workers in a row are the end of a job: it failed and is free.
  const wrong = jobs.filter(({ status, attempt, settled, others }) =>
    status === 'completed' ? settled !== '1' || others !== '0' : attempt < 3 || settled !== '0',
  );
  expect(wrong).toEqual([]);
  for (const { id, status, tool } of jobs) {
    if (status !== 'completed' || tool === 'stt') continue;
    const { body } = await api!.rest<object>('GET', `/jobs/${id}`, { key });
    const [url = ''] = /http[^"]*\/files\/[^"]*/.exec(JSON.stringify(Object(body)['outputData'])) ?? [];
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  }
  const open = await sql(
    'SELECT 1 FROM balances WHERE org_id = $1 AND EXISTS (SELECT 1 FROM unnest(reserved) r WHERE r <> 0)',
    [orgId],
  );
  expect(open).toEqual([]);
  record({
    promise: 1,
    mediaJobs: ids.length,
    workerKills: KILLS,
    completed: jobs.filter(({ status }) => status === 'completed').length,
  });
}, 1_200_000);

// Longer than a stopping worker waits for its jobs.
const LONG_MS = 35_000;

test('a worker that is asked to stop hands a job of every tool on: none counts an attempt, each is made and charged once', async () => {
  const stopping = await startCluster([{ role: 'api' }, WORKER], { plans: {} });
  onTestFinished(() => stopping.close());
  const { key, orgId } = await stopping.installation.createOrg({ plan: 'business_monthly' });
  const [api, worker] = stopping.servers;
  const ids: string[] = [];
  for (const { path, body } of await mediaJobs(LONG_MS)) {
    const answer = await api!.rest<{ id: string }>('POST', `${path}?async=true`, { key, body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    ids.push(answer.body.id);
  }
  const statuses = async () =>
    await stopping.installation.sql<{ tool: string; status: string; attempt: number; seconds: number }>(
      `SELECT tool, status, attempt, extract(epoch FROM now() - started_at)::float8 AS seconds FROM jobs WHERE org_id = $1 ORDER BY tool`,
      [orgId],
    );
  await eventually(async () => (await statuses()).every(({ status }) => status === 'processing'), {
    timeoutMs: 30_000,
    what: 'a worker at all six jobs',
  });
  expect(await worker!.signal('SIGTERM')).toBe(0);
  expect((await statuses()).map(({ status, attempt }) => [status, attempt])).toEqual(
    ids.map(() => ['pending', 0]),
  );
  await stopping.add(WORKER);
  await eventually(async () => (await statuses()).every(({ status }) => status === 'completed'), {
    timeoutMs: 80_000,
    everyMs: 250,
    what: 'six completed jobs',
  });
  const ledger = await stopping.installation.sql<{ job_id: string; state: string }>(
    `SELECT job_id, state FROM usage_ledger WHERE org_id = $1 AND kind <> 'period'`,
    [orgId],
  );
  expect(ledger.map(({ job_id: id }) => id).sort()).toEqual([...ids].sort());
  expect(new Set(ledger.map(({ state }) => state))).toEqual(new Set(['settled']));
  for (const id of ids) {
    const { body: job } = await api!.rest<{ outputData: object; progress: number }>('GET', `/jobs/${id}`, {
      key,
    });
    expect(job).toMatchObject({ progress: 100, outputData: expect.any(Object) as object });
  }
}, 240_000);
