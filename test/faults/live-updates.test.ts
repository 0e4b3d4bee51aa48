import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SpawnedServer } from '../support/spawned.js';
import { inParallel, seededRandom } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';

const DISCONNECTS = 1000;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([
    { role: 'api' },
    { role: 'api' },
    { role: 'worker', env: { WORKER_CONCURRENCY: 'image:8' } },
  ]);
});
afterAll(() => cluster?.close());

interface Item {
  sequence: number;
  type: string;
}

const TERMINAL = /^job\.(completed|failed|cancelled)$/;
const SUBSCRIPTION =
  'subscription ($id: ID!, $after: Int) { jobProgress(id: $id, after: $after) { sequence type } }';

interface Reading {
  server: SpawnedServer;
  key: string;
  id: string;
  after: number;
  /** How many items to take before hanging up. */
  take: number;
}

/** Items over graphql-ws; disconnects after `take` of them. */
async function overWebSocket({ server, key, id, after, take }: Reading): Promise<Item[]> {
  const client = server.ws(key);
  const items: Item[] = [];
  const stream = client.iterate<{ jobProgress: Item }>({ query: SUBSCRIPTION, variables: { id, after } });
  for await (const { data, errors } of stream) {
    if (errors) throw new Error(JSON.stringify(errors));
    if (data) items.push(data.jobProgress);
    if (items.length >= take) break;
  }
  client.terminate();
  await client.dispose();
  return items;
}

/** Items over `GET /jobs/{id}/stream` with `Last-Event-ID`. */
async function overEvents({ server, key, id, after, take }: Reading): Promise<Item[]> {
  const hangUp = new AbortController();
  const { status, events } = await server.events('GET', `/jobs/${id}/stream`, {
    key,
    headers: { 'last-event-id': String(after) },
    signal: hangUp.signal,
  });
  expect(status).toBe(200);
  const items: Item[] = [];
  try {
    for await (const event of events) {
      const { type } = JSON.parse(event.data) as { type: string };
      items.push({ sequence: Number(event.id), type });
      if (items.length >= take) break;
    }
  } finally {
    hangUp.abort();
  }
  return items;
}

/** Follows one job to its end through as many disconnects as it takes. */
async function follow(
  id: string,
  key: string,
  random: () => number,
): Promise<{ items: Item[]; disconnects: number }> {
  const items: Item[] = [];
  let disconnects = 0;
  while (!TERMINAL.test(items.at(-1)?.type ?? '')) {
    const read = random() < 0.5 ? overWebSocket : overEvents;
    const server = cluster.servers[random() < 0.5 ? 0 : 1];
    if (server === undefined) throw new Error('no server');
    items.push(
      ...(await read({
        server,
        key,
        id,
        after: items.at(-1)?.sequence ?? 0,
        take: 1 + Math.floor(random() * 2),
      })),
    );
    disconnects += 1;
    await sleep(random() * 100);
  }
  return { items, disconnects };
}

test('1,000 random disconnects that resume after the last event leave no gap and no duplicate', async () => {
  const { key } = await cluster.installation.createOrg();
  const random = seededRandom(18);
  let disconnects = 0;
  const broken: unknown[] = [];
  await inParallel(Array.from({ length: DISCONNECTS }), 12, async (_, index) => {
    if (disconnects >= DISCONNECTS) return;
    const created = await cluster.servers[index % 2]?.rest('POST', '/images/generations?async=true', {
      key,
      body: { prompt: 'a weir', size: '512x512', seed: index },
    });
    if (created?.status !== 200) throw new Error(JSON.stringify(created));
    const followed = await follow(String(created.body['id']), key, random);
    disconnects += followed.disconnects;
    const sequences = followed.items.map(({ sequence }) => sequence);
    const expected = sequences.map((_item, position) => position + 1);
    if (JSON.stringify(sequences) !== JSON.stringify(expected)) broken.push(followed.items);
  });
  expect(disconnects).toBeGreaterThanOrEqual(DISCONNECTS);
  expect(broken).toEqual([]);
});
