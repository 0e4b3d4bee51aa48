import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SpawnedServer, SpawnOptions } from '../support/spawned.js';
import { balancesOf, Fold, UPDATE_FIELDS } from '../support/usage-fold.js';
import type { Update } from '../support/usage-fold.js';
import { eventually, inParallel, seededRandom } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';
import { record, scaled } from './scale.js';

const CALLS = scaled(2_000, 200);
const KILLS = scaled(15, 4);
const READERS = 4;
const API: SpawnOptions = { role: 'api' };
const WORKER: SpawnOptions = { role: 'worker', env: { WORKER_CONCURRENCY: 'tts:4' } };

let cluster: Cluster;
const roles = new Map<SpawnedServer, SpawnOptions>();
beforeAll(async () => {
  cluster = await startCluster([API, API, WORKER]);
  cluster.servers.forEach((server, index) => roles.set(server, index < 2 ? API : WORKER));
});
afterAll(() => cluster?.close());

const apis = () => cluster.servers.filter((server) => roles.get(server) === API);
const someApi = (random: () => number) => apis()[Math.floor(random() * apis().length)];

/** Kills a process, and starts another in its place. */
async function replace(victim: SpawnedServer): Promise<void> {
  const role = roles.get(victim)!;
  await victim.signal('SIGKILL');
  await victim.close();
  cluster.servers.splice(cluster.servers.indexOf(victim), 1);
  roles.set(await cluster.add(role), role);
}

interface Reader {
  fold: Fold;
  connections: number;
}

const SUBSCRIPTION = `subscription ($after: SafeInt) { usageUpdates(after: $after) { ${UPDATE_FIELDS} } }`;

/** Reads from some process until it dies, or hangs up after some updates; a fault of the stream itself ends the test. */
async function readOnce(
  reader: Reader,
  { key, random }: { key: string; random: () => number },
): Promise<void> {
  const server = someApi(random);
  if (server === undefined) {
    await sleep(50);
    return;
  }
  const client = server.ws(key);
  reader.connections += 1;
  let left = 1 + Math.floor(random() * 300);
  const variables = { after: reader.fold.last };
  const stream = client.iterate<{ usageUpdates: Update }>({ query: SUBSCRIPTION, variables });
  // A quiet stream is left too: its process may be gone without a word.
  const quiet = setTimeout(() => client.terminate(), 3_000);
  const lost = Symbol('lost');
  try {
    while (left-- > 0) {
      const next = await stream.next().catch(() => lost);
      if (next === lost || typeof next === 'symbol' || next.done) break;
      if (next.value.errors) throw new Error(JSON.stringify(next.value.errors));
      reader.fold.take(next.value.data!.usageUpdates);
      quiet.refresh();
    }
  } finally {
    clearTimeout(quiet);
    client.terminate();
    // Its process may never have answered.
    await Promise.allSettled([client.dispose()]);
  }
}

/** What fails with its process is not tried again: the ledger says what became of it. */
async function call(index: number, { key, random }: { key: string; random: () => number }): Promise<void> {
  const server = someApi(random);
  if (server === undefined) {
    await sleep(20);
    return;
  }
  const kind = random();
  const messages = [
    { role: 'user', content: kind < 0.15 ? '@sandbox{"fail":"no luck"}' : 'A word on mills.' },
  ];
  try {
    if (kind < 0.7) await server.rest('POST', '/chat/completions', { key, body: { messages } });
    else if (kind < 0.85) {
      const hangUp = new AbortController();
      const body = { messages, stream: true };
      const { events } = await server.events('POST', '/chat/completions', {
        key,
        body,
        signal: hangUp.signal,
      });
      await events.next();
      hangUp.abort();
    } else {
      const body = { input: `mill ${index}`, model: 'sandbox/tts-fast' };
      await server.rest('POST', '/audio/speech?async=true', { key, body });
    }
  } catch {
    // Its process was killed, or this reader hung up.
  }
}

test(`readers that fold ${CALLS} calls through ${KILLS} kills have every balance exactly`, async () => {
  const { installation } = cluster;
  const { key, orgId } = await installation.createOrg({ plan: 'business_monthly' });
  const random = seededRandom(28);
  const readers: Reader[] = Array.from({ length: READERS }, () => ({ fold: new Fold(), connections: 0 }));
  let isOver = false;
  const reading = Promise.all(
    readers.map(async (reader) => {
      while (!isOver) await readOnce(reader, { key, random });
    }),
  );
  const calling = inParallel(Array.from({ length: CALLS }), 12, (_, index) => call(index, { key, random }));
  for (let kill = 0; kill < KILLS; kill++) {
    await replace(cluster.servers[Math.floor(random() * cluster.servers.length)]!);
    if (kill % 4 === 1)
      await installation.cli('org', 'top-up', '--org', orgId, '--bucket', 'credits', '--amount', '7');
    if (kill % 4 === 2)
      await installation.cli(
        'quota',
        'set',
        '--org',
        orgId,
        '--bucket',
        'music_tracks',
        '--used',
        String(kill),
      );
    if (kill === 2) await installation.cli('org', 'plan', '--org', orgId, '--plan', 'cli_team');
    if (kill === 3) await installation.cli('org', 'plan', '--org', orgId, '--plan', 'business_monthly');
    await sleep(300 + random() * 700);
  }
  await calling;
  await eventually(
    async () => {
      const open = await installation.sql(
        `SELECT 1 FROM usage_ledger WHERE org_id = $1 AND state = 'reserved' LIMIT 1`,
        [orgId],
      );
      return open.length === 0;
    },
    { timeoutMs: 300_000, everyMs: 500, what: 'the end of every operation' },
  );
  const { last, balances } = await balancesOf(installation, orgId);
  await eventually(() => readers.every(({ fold }) => fold.last === last), {
    timeoutMs: 120_000,
    what: `${last} updates for every reader`,
  });
  isOver = true;
  await reading;
  for (const { fold } of readers) expect(fold.balances()).toEqual(balances);
  record({
    beyond: '13.7',
    calls: CALLS,
    kills: KILLS,
    updates: last,
    connections: readers.reduce((sum, { connections }) => sum + connections, 0),
  });
}, 3_600_000);
