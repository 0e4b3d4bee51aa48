import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BUCKETS } from '../../src/contract/words.js';
import type { SpawnedServer } from '../support/spawned.js';
import { eventually, inParallel, seededRandom } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';
import { record, scaled } from './scale.js';

const JOBS = scaled(10_000, 100);
const WORKER_KILLS = scaled(50, 3);
const API_KILLS = scaled(20, 2);
const WORKER = { role: 'worker' as const, env: { WORKER_CONCURRENCY: 'image:4,tts:4' } };
/** Speech is the quickest to make: the promise is about jobs, not about drawing. */
const INPUT = 'mill';
/** Of the fast tier, whose multiplier is 1. */
const MODEL = 'sandbox/tts-fast';
/** Hundredths of a character, and their place in the ledger's vectors. */
const CHARGE = INPUT.length * 100;
const TTS_CHARS = BUCKETS.indexOf('tts_chars') + 1;
const API = { role: 'api' as const };

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([API, API, WORKER, WORKER]);
});
afterAll(() => cluster?.close());

const ofRole = (role: 'api' | 'worker'): SpawnedServer[] =>
  cluster.servers.filter((server) => roles.get(server) === role);
const roles = new Map<SpawnedServer, 'api' | 'worker'>();

/** Kills one of a role, and starts another in its place. */
async function replace(role: 'api' | 'worker', random: () => number): Promise<void> {
  const group = ofRole(role);
  const victim = group[Math.floor(random() * group.length)]!;
  await victim.signal('SIGKILL');
  await victim.close();
  cluster.servers.splice(cluster.servers.indexOf(victim), 1);
  roles.set(await cluster.add(role === 'api' ? API : WORKER), role);
}

async function killInTurn(
  role: 'api' | 'worker',
  { count, random }: { count: number; random: () => number },
): Promise<void> {
  for (let nth = 0; nth < count; nth++) {
    await replace(role, random);
    await sleep(200 + random() * 800);
  }
}

/** Retries with its Idempotency-Key until some process answers, as a client would. */
async function create(key: string, index: number): Promise<string> {
  return await eventually(
    async () => {
      const apis = ofRole('api');
      const api = apis[index % Math.max(1, apis.length)];
      if (api === undefined) return null;
      const answer = await api.rest<{ id: string }>('POST', '/audio/speech?async=true', {
        key,
        headers: { 'idempotency-key': `job-${index}` },
        body: { input: INPUT, model: MODEL },
      });
      return answer.status === 200 && answer.body.id;
    },
    { timeoutMs: 120_000, everyMs: 100, what: `job ${index}` },
  );
}

test(`${JOBS} jobs through ${WORKER_KILLS} kills of workers and ${API_KILLS} of API processes: none lost, each charged once`, async () => {
  cluster.servers.forEach((server, index) => roles.set(server, index < 2 ? 'api' : 'worker'));
  const { key, orgId } = await cluster.installation.createOrg({ plan: 'business_monthly' });
  const random = seededRandom(1);
  let creating = true;
  const made = inParallel(Array.from({ length: JOBS }), 8, (_, index) => create(key, index)).finally(
    () => (creating = false),
  );
  // Both groups lose theirs at the same time.
  await Promise.all([
    killInTurn('worker', { count: WORKER_KILLS, random }),
    killInTurn('api', { count: API_KILLS, random }),
  ]);
  const ids = await made;
  expect(creating).toBe(false);
  expect(new Set(ids).size).toBe(JOBS);
  const { sql } = cluster.installation;
  await eventually(
    async () => {
      const [row] = await sql<{ open: string }>(
        `SELECT count(*) AS open FROM jobs WHERE status IN ('pending', 'processing')`,
      );
      return row?.open === '0';
    },
    { timeoutMs: 60_000 + JOBS * 60, everyMs: 1_000, what: 'the end of all jobs' },
  );
  const [jobs] = await sql<Record<string, string>>(
    `SELECT count(*) AS all, count(*) FILTER (WHERE status = 'completed') AS completed,
       count(*) FILTER (WHERE status = 'failed' AND attempt < 3) AS wrong FROM jobs WHERE org_id = $1`,
    [orgId],
  );
  expect(jobs).toMatchObject({ all: String(JOBS), wrong: '0' });
  const [ledger] = await sql<Record<string, string>>(
    `SELECT count(*) FILTER (WHERE j.status = 'completed' AND (l.n <> 1 OR l.charged <> $2)) AS bad,
       count(*) FILTER (WHERE j.status = 'failed' AND l.charged <> 0) AS charged_failures
     FROM jobs j LEFT JOIN LATERAL (
       SELECT count(*) FILTER (WHERE state = 'settled') AS n, COALESCE(sum(charged[${TTS_CHARS}]), 0) AS charged FROM usage_ledger u WHERE u.job_id = j.id
     ) l ON true WHERE j.org_id = $1`,
    [orgId, CHARGE],
  );
  expect(ledger).toEqual({ bad: '0', charged_failures: '0' });
  const [balance] = await sql<{ used: string; reserved: string }>(
    `SELECT used[${TTS_CHARS}]::text AS used, reserved[${TTS_CHARS}]::text AS reserved FROM balances WHERE org_id = $1 AND NOT superseded`,
    [orgId],
  );
  expect(balance).toEqual({ used: String(Number(jobs!['completed']) * CHARGE), reserved: '0' });
  const [orphans] = await sql<{ n: string; slowest: number | null }>(
    `SELECT count(*) AS n, max(extract(epoch FROM again.created_at - before.created_at))::float8 AS slowest
     FROM job_events again JOIN LATERAL (
       SELECT e.created_at FROM job_events e WHERE e.job_id = again.job_id AND e.sequence = again.sequence - 1) before ON true
     WHERE again.type = 'job.pending' AND again.sequence > 1`,
  );
  expect(orphans?.slowest ?? 0).toBeLessThanOrEqual(35);
  record({
    promise: 1,
    jobs: JOBS,
    workerKills: WORKER_KILLS,
    apiKills: API_KILLS,
    completed: jobs!['completed']!,
    orphans: orphans!.n,
    slowestReclaimSeconds: orphans!.slowest ?? 0,
  });
}, 3_600_000);

test('a worker that was stopped past its lease changes nothing when it goes on', async () => {
  const { key, orgId } = await cluster.installation.createOrg({ plan: 'business_monthly' });
  const { sql } = cluster.installation;
  const api = ofRole('api')[0]!;
  const body = { prompt: 'a mill @sandbox{"delay_ms": 4000}', size: '512x512' };
  const jobs = await inParallel(
    Array.from({ length: 8 }),
    8,
    async () =>
      (await api.rest<{ id: string }>('POST', '/images/generations?async=true', { key, body })).body.id,
  );
  await eventually(
    async () =>
      (await sql(`SELECT id FROM jobs WHERE org_id = $1 AND status = 'processing'`, [orgId])).length >= 5,
  );
  const stopped = ofRole('worker')[0]!;
  stopped.pause();
  await eventually(
    async () =>
      (await sql(`SELECT id FROM jobs WHERE org_id = $1 AND status = 'completed'`, [orgId])).length ===
      jobs.length,
    { timeoutMs: 120_000, everyMs: 500, what: 'the end of all jobs on the other worker' },
  );
  const state = () =>
    sql<object>(
      `SELECT j.id, j.status, j.sequence, j.fence, j.completed_at, l.charged, (SELECT count(*) FROM job_events e WHERE e.job_id = j.id) AS events
       FROM jobs j JOIN usage_ledger l ON l.job_id = j.id WHERE j.org_id = $1 ORDER BY j.id`,
      [orgId],
    );
  const before = await state();
  stopped.resume();
  await sleep(8_000);
  expect(await state()).toEqual(before);
  record({ promise: 2, jobs: jobs.length, rowsChanged: 0 });
}, 300_000);
