import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SpawnedServer } from '../support/spawned.js';
import { inParallel, seededRandom } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';
import { record, scaled } from './scale.js';

const DISCONNECTS = scaled(1000, 50);

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([{ role: 'api' }, { role: 'api' }, { role: 'worker' }]);
});
afterAll(() => cluster?.close());

interface Item {
  sequence: number;
  type: string;
}
interface Reading {
  server: SpawnedServer;
  key: string;
  agentId: string;
  runId: string;
  after: number;
  /** How many items to take before hanging up. */
  take: number;
}

const SUBSCRIPTION =
  'subscription ($id: ID!, $after: Int) { agentRunSteps(runId: $id, after: $after) { sequence type } }';

async function overWebSocket({ server, key, runId, after, take }: Reading): Promise<Item[]> {
  const client = server.ws(key);
  const items: Item[] = [];
  const stream = client.iterate<{ agentRunSteps: Item }>({
    query: SUBSCRIPTION,
    variables: { id: runId, after },
  });
  for await (const { data, errors } of stream) {
    if (errors) throw new Error(JSON.stringify(errors));
    if (data) items.push(data.agentRunSteps);
    if (items.length >= take) break;
  }
  client.terminate();
  await client.dispose();
  return items;
}

async function overEvents({ server, key, agentId, runId, after, take }: Reading): Promise<Item[]> {
  const hangUp = new AbortController();
  const { status, events } = await server.events('GET', `/agents/${agentId}/runs/${runId}/stream`, {
    key,
    // From the start it may be joined without the header as well.
    headers: after === 0 ? {} : { 'last-event-id': String(after) },
    signal: hangUp.signal,
  });
  expect(status).toBe(200);
  const items: Item[] = [];
  try {
    for await (const { id, data } of events) {
      items.push({ sequence: Number(id), type: (JSON.parse(data) as { type: string }).type });
      if (items.length >= take) break;
    }
  } finally {
    hangUp.abort();
  }
  return items;
}

/** Follows one run to its end through as many disconnects as it takes. */
async function follow(
  run: Pick<Reading, 'key' | 'agentId' | 'runId'>,
  random: () => number,
): Promise<{ items: Item[]; disconnects: number }> {
  const items: Item[] = [];
  let disconnects = 0;
  while (!['done', 'error'].includes(items.at(-1)?.type ?? '')) {
    const read = random() < 0.5 ? overWebSocket : overEvents;
    const server = cluster.servers[random() < 0.5 ? 0 : 1];
    if (server === undefined) throw new Error('no server');
    const after = items.at(-1)?.sequence ?? 0;
    items.push(...(await read({ ...run, server, after, take: 1 + Math.floor(random() * 3) })));
    disconnects += 1;
    await sleep(random() * 60);
  }
  return { items, disconnects };
}

test('1,000 random disconnects from runs that resume after the last event leave no gap and no duplicate', async () => {
  const { key } = await cluster.installation.createOrg();
  const made = await cluster.servers[0]!.rest('POST', '/agents', {
    key,
    body: { name: 'Followed', system_prompt: 'You help.', tools: ['generate_text'] },
  });
  const agentId = (made.body as { agent: { id: string } }).agent.id;
  const step = {
    tool_call: { name: 'generate_text', arguments: { prompt: 'Hi', max_tokens: 5 } },
    delay_ms: 20,
  };
  const input = `@sandbox${JSON.stringify({ steps: [step, step, step] })}`;
  const random = seededRandom(18);
  let disconnects = 0;
  let runs = 0;
  const broken: unknown[] = [];
  await inParallel(Array.from({ length: DISCONNECTS }), 8, async (_, index) => {
    if (disconnects >= DISCONNECTS) return;
    const started = await cluster.servers[index % 2]!.graphql<{ runAgent: { id: string } }>(
      'mutation ($id: ID!, $input: RunAgentInput!) { runAgent(id: $id, input: $input) { id } }',
      { key, variables: { id: agentId, input: { input } } },
    );
    if (!started.data) throw new Error(JSON.stringify(started.errors));
    const followed = await follow({ key, agentId, runId: started.data.runAgent.id }, random);
    disconnects += followed.disconnects;
    runs += 1;
    const sequences = followed.items.map(({ sequence }) => sequence);
    const whole = sequences.every((sequence, position) => sequence === position + 1);
    if (!whole || followed.items.at(-1)?.type !== 'done') broken.push(followed.items);
  });
  record({ runs, disconnects, broken: broken.length });
  expect(disconnects).toBeGreaterThanOrEqual(DISCONNECTS);
  expect(broken).toEqual([]);
});
