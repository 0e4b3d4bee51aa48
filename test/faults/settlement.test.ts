import { afterAll, beforeAll, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, inParallel, seededRandom } from '../support/wait.js';
import { charged, readLedger, startCluster, type Cluster } from './cluster.js';

const JOBS = 1000;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([
    { role: 'api' },
    { role: 'worker', env: { WORKER_CONCURRENCY: 'image:8' } },
    { role: 'worker', env: { WORKER_CONCURRENCY: 'image:8' } },
  ]);
});
afterAll(() => cluster?.close());

interface JobBody {
  id: string;
  status: string;
  actualCredits: number | null;
}

interface EventRow {
  job_id: string;
  type: string;
}

/** Kills a worker and starts another one, again and again: its jobs' leases run out and the sweep gives them to others. */
async function killWorkers(isOver: () => boolean): Promise<number> {
  let kills = 0;
  while (!isOver()) {
    await sleep(4000);
    const [victim] = cluster.servers.splice(1, 1);
    await victim?.signal('SIGKILL');
    await victim?.close();
    kills += 1;
    await cluster.add({ role: 'worker', env: { WORKER_CONCURRENCY: 'image:8' } });
  }
  return kills;
}

test('1,000 jobs whose completion, cancellation and sweep race are each settled or released once', async () => {
  const { orgId, key } = await cluster.installation.createOrg();
  const api = cluster.servers[0];
  if (api === undefined) throw new Error('no API process');
  const random = seededRandom(5);
  let over = false;
  const kills = killWorkers(() => over);

  const ids = await inParallel(Array.from({ length: JOBS }), 16, async (_, index) => {
    const prompt =
      index % 5 === 0 ? '@sandbox{"fail":"out of paint"} a mill' : '@sandbox{"delay_ms":20} a mill';
    const created = await api.rest<JobBody>('POST', '/images/generations?async=true', {
      key,
      body: { prompt, size: '512x512', seed: index },
    });
    expect(created.status).toBe(200);
    if (random() < 0.5) {
      // From at once to 1.5 s, more of the short ones: how long a job takes is the machine's.
      await sleep(random() ** 3 * 1500);
      const cancelled = await api.rest('DELETE', `/jobs/${created.body.id}`, { key });
      expect([200, 400]).toContain(cancelled.status);
    }
    return created.body.id;
  });
  await eventually(
    async () => {
      const pending = await api.rest<{ jobs: unknown[] }>('GET', '/jobs?pending=true&limit=1', { key });
      return pending.status === 200 && pending.body.jobs.length === 0;
    },
    { timeoutMs: 240_000, everyMs: 500, what: 'the end of every job' },
  );
  over = true;
  expect(await kills).toBeGreaterThan(0);

  const jobs = await inParallel(
    ids,
    8,
    async (id) => (await api.rest<JobBody>('GET', `/jobs/${id}`, { key })).body,
  );
  const rows = (await readLedger(api, key)).filter(({ jobId }) => jobId !== null);
  expect(rows).toHaveLength(JOBS);
  const byJob = new Map(rows.map((row) => [row.jobId, row]));
  const wrong = jobs.filter(({ id, status, actualCredits }) => {
    const row = byJob.get(id);
    if (row === undefined) return true;
    return status === 'completed'
      ? row.state !== 'settled' || charged(row, 'credits') !== actualCredits
      : row.state !== 'released';
  });
  expect(wrong).toEqual([]);
  const counts = (status: string): number => jobs.filter((job) => job.status === status).length;
  expect(counts('completed')).toBeGreaterThan(100);
  expect(counts('cancelled')).toBeGreaterThan(50);
  expect(counts('completed') + counts('cancelled') + counts('failed')).toBe(JOBS);

  const ends = await cluster.installation.sql<EventRow>(
    `SELECT job_id, type FROM job_events WHERE org_id = $1 AND type IN ('job.completed', 'job.failed', 'job.cancelled')`,
    [orgId],
  );
  expect(ends).toHaveLength(JOBS);
  const quota = await api.rest<{
    quotas: Record<string, { used: number; remaining: number; limit: number }>;
  }>('GET', '/quota', { key });
  for (const bucket of ['credits', 'image_generations']) {
    const found = quota.body.quotas[bucket];
    const used = rows.reduce((sum, row) => sum + (row.state === 'settled' ? charged(row, bucket) : 0), 0);
    expect([found?.used, found?.remaining]).toEqual([used, (found?.limit ?? 0) - used]);
  }
});

test('a worker that was paused past its lease and wakes up changes nothing', async () => {
  const { key } = await cluster.installation.createOrg();
  const api = cluster.servers[0];
  const paused = cluster.servers[1];
  if (api === undefined || paused === undefined) throw new Error('a process is missing');
  for (const server of cluster.servers.slice(2)) await server.signal('SIGTERM');
  const created = await api.rest<JobBody>('POST', '/images/generations?async=true', {
    key,
    body: { prompt: '@sandbox{"delay_ms":4000} a slow mill', size: '512x512' },
  });
  const read = async () =>
    (await api.rest<JobBody & { progress: number }>('GET', `/jobs/${created.body.id}`, { key })).body;
  await eventually(async () => (await read()).status === 'processing', { what: 'the first claim' });
  paused.pause();
  const other = await cluster.add({ role: 'worker' });
  await eventually(async () => (await read()).status === 'completed', {
    timeoutMs: 60_000,
    everyMs: 200,
    what: 'the second attempt',
  });
  const before = await cluster.installation.sql('SELECT * FROM jobs WHERE id = $1', [created.body.id]);
  paused.resume();
  await sleep(6000);
  expect(await cluster.installation.sql('SELECT * FROM jobs WHERE id = $1', [created.body.id])).toEqual(
    before,
  );
  expect((await readLedger(api, key)).map(({ state }) => state)).toEqual(['settled']);
  await other.close();
});
