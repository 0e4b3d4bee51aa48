import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCluster, type Cluster } from '../faults/cluster.js';
import { mediaJobs } from '../support/media-jobs.js';
import { eventually } from '../support/wait.js';

const WORKER = { role: 'worker' as const };
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster([{ role: 'api' }, WORKER], { plans: {} });
});
afterAll(() => cluster?.close());

it('a worker that is asked to stop hands a job of every tool on: none counts an attempt, each is made and charged once', async () => {
  const { key, orgId } = await cluster.installation.createOrg({ plan: 'business_monthly' });
  const [api, worker] = cluster.servers;
  const ids: string[] = [];
  for (const { path, body } of await mediaJobs(20_000)) {
    const answer = await api!.rest<{ id: string }>('POST', `${path}?async=true`, { key, body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    ids.push(answer.body.id);
  }
  const statuses = async () =>
    await cluster.installation.sql<{ tool: string; status: string; attempt: number; seconds: number }>(
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
  await cluster.add(WORKER);
  await eventually(async () => (await statuses()).every(({ status }) => status === 'completed'), {
    timeoutMs: 80_000,
    everyMs: 250,
    what: 'six completed jobs',
  });
  const ledger = await cluster.installation.sql<{ job_id: string; state: string }>(
    'SELECT job_id, state FROM usage_ledger WHERE org_id = $1',
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
});
