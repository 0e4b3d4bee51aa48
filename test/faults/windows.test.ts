import { afterAll, beforeAll, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SpawnedServer } from '../support/spawned.js';
import { inParallel } from '../support/wait.js';
import { RAISED_PLANS, startCluster, type Cluster } from './cluster.js';

/** 60 requests in any 3 seconds. */
const BURST = 60;
const WINDOW_MS = 3000;
const PLANS = {
  ...RAISED_PLANS,
  plans: { business_monthly: { ...RAISED_PLANS.plans.business_monthly, rate: { rpm: 1200, burst: BURST } } },
};

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([{ role: 'api' }, { role: 'api' }, { role: 'all' }], { plans: PLANS });
});
afterAll(() => cluster?.close());

interface Call {
  sentAt: number;
  answeredAt: number;
  status: number;
}

async function call(server: SpawnedServer | undefined, key: string): Promise<Call> {
  const sentAt = performance.now();
  const answer = await server?.rest('GET', '/models?type=tts', { key });
  return { sentAt, answeredAt: performance.now(), status: answer?.status ?? 0 };
}

/** Calls as fast as the servers answer, from `width` callers, for `durationMs`. */
async function press(servers: SpawnedServer[], key: string, durationMs: number): Promise<Call[]> {
  const until = performance.now() + durationMs;
  const width = 12;
  const lanes = await inParallel(
    Array.from({ length: width }, (_, index) => index),
    width,
    async (lane) => {
      const calls: Call[] = [];
      while (performance.now() < until) {
        calls.push(await call(servers[lane % servers.length], key));
        await sleep(5);
      }
      return calls;
    },
  );
  return lanes.flat();
}

/**
 * The most acceptances that lie within one window for sure: the slot of a call was taken between its sending and its answer, so only
 * calls that were sent and answered within the window count.
 */
function most(calls: Call[]): number {
  const accepted = calls.filter(({ status }) => status === 200);
  const within = (start: number): number =>
    accepted.filter(({ sentAt, answeredAt }) => sentAt >= start && answeredAt < start + WINDOW_MS).length;
  return Math.max(...accepted.map(({ sentAt }) => within(sentAt)));
}

test('one process admits no request over the window, however hard it is pressed', async () => {
  const { key } = await cluster.installation.createOrg();
  const calls = await press(cluster.servers.slice(0, 1), key, 4 * WINDOW_MS);
  expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200, 429]));
  expect(most(calls)).toBeLessThanOrEqual(BURST);
  expect(calls.filter(({ status }) => status === 200).length).toBeGreaterThan(3 * BURST);
});

test('three processes together admit at most 2 % over the window', async () => {
  const { key } = await cluster.installation.createOrg();
  const calls = await press(cluster.servers, key, 4 * WINDOW_MS);
  expect(most(calls)).toBeLessThanOrEqual(Math.floor(BURST * 1.02));
  expect(calls.filter(({ status }) => status === 200).length).toBeGreaterThan(3 * BURST);
});

test('a caller who stays below the rate is admitted', async () => {
  const { key } = await cluster.installation.createOrg();
  const pace = (WINDOW_MS / BURST) * 1.15;
  const calls: Promise<Call>[] = [];
  const start = performance.now();
  for (let index = 0; index < 4 * BURST; index += 1) {
    await sleep(Math.max(0, start + index * pace - performance.now()));
    calls.push(call(cluster.next(), key));
  }
  const admitted = (await Promise.all(calls)).filter(({ status }) => status === 200);
  expect(admitted.length / calls.length).toBeGreaterThanOrEqual(0.99);
});
