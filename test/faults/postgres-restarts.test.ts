import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useEmbeddedPostgres } from '../../src/database/index.js';
import { createCuttable } from '../support/cuttable.js';
import { createInstallation } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';
import { charged, readLedger, startCluster, type Cluster } from './cluster.js';
import { record } from './scale.js';

const TERMINATED = 20;
const RESTARTS = 5;
const CLIENTS = 6;
/** Promise 14: how soon after a fault calls are answered again. */
const AGAIN_MS = 5000;

/** A PostgreSQL of this test's own, which it may end and start as an operator does. */
async function startPostgres() {
  const dataDir = await mkdtemp(join(tmpdir(), 'penstock-restarts-'));
  const server = await useEmbeddedPostgres({ dataDir, logger: pino({ level: 'silent' }) });
  const pid = async (): Promise<number> =>
    Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
  return {
    url: server.url,
    async restart(signal: 'SIGINT' | 'SIGQUIT') {
      const old = await pid();
      process.kill(old, signal);
      await eventually(
        () =>
          pid().then(
            () => false,
            () => true,
          ),
        { what: 'the end of PostgreSQL' },
      );
      await server.ensure();
    },
    /** Ends one backend of Penstock's, at random. */
    async terminateOne() {
      const admin = new pg.Client({ connectionString: server.url });
      await admin.connect();
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name LIKE 'penstock%' ORDER BY random() LIMIT 1`);
      await admin.end();
    },
    async stop() {
      await server.release();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let cluster: Cluster;
beforeAll(async () => {
  postgres = await startPostgres();
  cluster = await startCluster([{ role: 'all' }, { role: 'api' }], { env: { DATABASE_URL: postgres.url } });
});
afterAll(async () => {
  await cluster?.close();
  await postgres?.stop();
});

const BODY = { messages: [{ role: 'user', content: '@sandbox{"tokens":3} hello' }], max_tokens: 3 };

/** Calls of every kind in turn; how often each outcome came. */
function startLoad(key: string) {
  const outcomes: Record<string, number> = {};
  const chats = new Set<string>();
  const jobs = new Set<string>();
  let running = true;
  const calls = [
    async (server: SpawnedServer) => {
      const answer = await server.rest('POST', '/chat/completions', { key, body: BODY });
      if (answer.status === 200) chats.add(String(answer.headers['x-request-id']));
      return answer.status;
    },
    async (server: SpawnedServer) => (await server.rest('GET', '/jobs?limit=5', { key })).status,
    async (server: SpawnedServer) => {
      const body = { prompt: 'a weir', size: '512x512' };
      const answer = await server.rest('POST', '/images/generations?async=true', { key, body });
      if (answer.status === 200) jobs.add(String(answer.body['id']));
      await sleep(200);
      return answer.status;
    },
    async (server: SpawnedServer) => (await server.rest('GET', '/quota', { key })).status,
  ];
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    for (let turn = index; running; turn += 1) {
      const status = await calls[turn % calls.length]!(cluster.next());
      outcomes[status] = (outcomes[status] ?? 0) + 1;
    }
  });
  return {
    outcomes,
    chats,
    jobs,
    async stop() {
      running = false;
      await Promise.all(clients);
    },
  };
}

/** How long until each process answers a call that reads and writes. */
async function answersAgain(key: string): Promise<number> {
  const startedAt = performance.now();
  for (const server of cluster.servers) {
    await eventually(
      async () => (await server.rest('POST', '/chat/completions', { key, body: BODY })).status === 200,
      { timeoutMs: AGAIN_MS, what: 'an answer of every process' },
    );
  }
  return performance.now() - startedAt;
}

test(`${TERMINATED} terminated backends and ${RESTARTS} restarts under load: no process ends, calls are answered again within 5 s`, async () => {
  const { key, orgId } = await cluster.installation.createOrg();
  const load = startLoad(key);
  for (let n = 0; n < TERMINATED; n++) {
    await sleep(150);
    await postgres.terminateOne();
    expect(await answersAgain(key)).toBeLessThan(AGAIN_MS);
  }
  const afterTerminations = { ...load.outcomes };
  let slowestMs = 0;
  for (let n = 0; n < RESTARTS; n++) {
    await postgres.restart(n % 2 === 0 ? 'SIGINT' : 'SIGQUIT');
    slowestMs = Math.max(slowestMs, await answersAgain(key));
    await sleep(500);
  }
  await load.stop();

  expect(slowestMs).toBeLessThan(AGAIN_MS);
  expect(cluster.servers.map(({ process: { exitCode } }) => exitCode)).toEqual(
    cluster.servers.map(() => null),
  );
  // Nothing but a pause or, where a restart cut off what may have taken effect, a 503.
  expect(Object.keys(load.outcomes).filter((status) => status !== '200' && status !== '503')).toEqual([]);
  const [server] = cluster.servers;
  for (const id of load.jobs) {
    const job = await server!.rest('GET', `/jobs/${id}?poll=true`, { key });
    expect(job.body['status']).toBe('completed');
  }
  const ledger = await eventually(
    async () => {
      const rows = await readLedger(server!, key);
      return rows.every(({ state }) => state !== 'reserved') && rows;
    },
    { timeoutMs: 60_000, what: 'the end of every reservation' },
  );
  const settled = ledger.filter(({ state }) => state === 'settled');
  for (const kept of [load.chats, load.jobs]) {
    const ids = settled.flatMap(({ jobId, requestId }) => [jobId, requestId]).filter((id) => kept.has(id!));
    expect(ids).toHaveLength(kept.size);
  }
  const quota = await server!.rest<{ quotas: Record<string, { used: number }> }>('GET', '/quota', { key });
  expect(settled.reduce((sum, row) => sum + charged(row, 'credits'), 0)).toBe(
    quota.body.quotas['credits']?.used,
  );
  record({
    promise: 14,
    org: orgId,
    terminated: TERMINATED,
    duringTerminations: JSON.stringify(afterTerminations),
    restarts: RESTARTS,
    all: JSON.stringify(load.outcomes),
    slowestAgainSeconds: Math.round(slowestMs / 100) / 10,
  });
}, 600_000);

test('a PostgreSQL that goes silent is away, not slow: calls are 503 with Retry-After, and pass once it speaks again', async () => {
  const installation = await createInstallation();
  const wire = await createCuttable(installation.databaseUrl);
  const server = await spawnPenstock(installation, { env: { DATABASE_URL: wire.url } });
  const { key } = await installation.createOrg();
  const chat = () => server.rest('POST', '/chat/completions', { key, body: BODY });
  const again = () => eventually(async () => (await chat()).status === 200, { what: 'an answered call' });
  await again();
  for (let round = 0; round < 2; round++) {
    wire.hush();
    const list = (path: string) => server.rest('GET', path, { key });
    for (const answer of await Promise.all([chat(), list('/jobs'), list('/quota'), list('/agents')])) {
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    wire.mend();
    await again();
  }
  expect(server.output()).not.toContain('unhandled rejection');
  await server.close();
  await wire.close();
  await installation.close();
}, 120_000);
