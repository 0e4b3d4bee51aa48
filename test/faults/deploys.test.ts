import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SpawnedServer } from '../support/spawned.js';
import { startCluster, type Cluster } from './cluster.js';
import { record, scaled } from './scale.js';

const DEPLOYS = scaled(50, 3);
const CLIENTS = 6;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([{ role: 'all' }, { role: 'all' }]);
});
afterAll(() => cluster?.close());

/** What a connection that was never accepted says: a balancer asks the next process then, and nothing was sent. */
const wasRefused = (error: unknown): boolean => (error as { code?: string }).code === 'ECONNREFUSED';

test(`${DEPLOYS} SIGTERMs under load: no POST is reset, each process ends within 30 s, streams end whole`, async () => {
  const { key } = await cluster.installation.createOrg({ plan: 'business_monthly' });
  const live = new Set<SpawnedServer>(cluster.servers);
  const broken: string[] = [];
  let posts = 0;
  let streams = 0;
  let running = true;
  const pick = (turn: number): SpawnedServer => [...live][turn % live.size]!;

  async function post(turn: number): Promise<void> {
    const body = {
      messages: [{ role: 'user', content: 'hi @sandbox{"tokens": 20, "chunk_ms": 10}' }],
      max_tokens: 30,
    };
    const stream = turn % 3 === 0;
    const server = pick(turn);
    try {
      if (!stream) {
        const answer = await server.rest('POST', '/chat/completions', { key, body });
        if (answer.status === 200) posts += 1;
        else if (answer.status !== 503) broken.push(`${answer.status} ${JSON.stringify(answer.body)}`);
        return;
      }
      const { status, events } = await server.events('POST', '/chat/completions', {
        key,
        body: { ...body, stream: true },
      });
      let last = '';
      for await (const event of events) last = event.data;
      if (status === 200 && last === '[DONE]') streams += 1;
      else if (status !== 503) broken.push(`stream ${status} ended with ${last.slice(0, 100)}`);
    } catch (error) {
      if (!wasRefused(error))
        broken.push(
          `${stream ? 'stream' : 'post'}: ${String(error)} ${String((error as { code?: string }).code)}`,
        );
    }
  }
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    for (let turn = index; running; turn += 1) await post(turn);
  });
  let slowestMs = 0;
  for (let deploy = 0; deploy < DEPLOYS; deploy++) {
    const fresh = await cluster.add({ role: 'all' });
    live.add(fresh);
    const [old] = live;
    const startedAt = performance.now();
    const ended = old!.signal('SIGTERM');
    // As a balancer does, whose checks notice a moment later.
    await sleep(300);
    live.delete(old!);
    expect(await ended).toBe(0);
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    cluster.servers.splice(cluster.servers.indexOf(old!), 1);
    await old!.close();
  }
  running = false;
  await Promise.all(clients);
  expect(broken).toEqual([]);
  expect(slowestMs).toBeLessThan(30_000);
  record({
    promise: 17,
    deploys: DEPLOYS,
    posts,
    streams,
    broken: broken.length,
    slowestStopSeconds: Math.round(slowestMs / 100) / 10,
  });
}, 3_600_000);
