/**
 * Deliveries of one sender alone: `webhooks.process.js <penstock|fetch> <url> <count>`. Penstock claims, signs, sends and records each
 * delivery; `fetch` only sends the same bodies with Node's own fetch. Both have 64 requests in flight. The last line is JSON:
 * microseconds of this process's CPU for each POST, and of PostgreSQL's.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createEgress } from '../src/egress/index.js';
import { newId } from '../src/contract/ids.js';
import { createDeliveryWorker, createSecretBox } from '../src/webhooks/index.js';
import { addOrganisation, silent, withDatabase, type BenchDatabase } from './embedded.js';
import { postmasterOf, treeCpuMs } from './processes.js';

const [sender = '', url = '', countText = '2000'] = process.argv.slice(2);
const AT_ONCE = 64;
/** The number of webhooks, with eight deliveries in flight to each. */
const WEBHOOKS = 8;

function event(orgId: string): Record<string, unknown> {
  const data = {
    jobId: newId('job'),
    tool: 'image',
    model: 'sandbox/image-standard',
    outputUrl:
      'https://files.example/files/file_00000000000000000000000001.png?expires=1790000000&signature=00',
    durationMs: 4210,
    unitsUsed: 1,
    unitType: 'image_generations',
  };
  const timestamp = new Date().toISOString();
  return { id: newId('evt'), type: 'generation.completed', timestamp, data, orgId };
}

async function withFetch(count: number): Promise<void> {
  let left = count;
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const body = JSON.stringify(event('org_bench'));
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
}

type Secrets = ReturnType<typeof createSecretBox>;

/** Registers the webhooks, and creates each event's delivery to one of them, like the event's transaction. */
async function enqueue({ database }: BenchDatabase, secrets: Secrets, count: number): Promise<void> {
  const orgs = Array.from({ length: WEBHOOKS }, () => newId('org'));
  for (const orgId of orgs) {
    await addOrganisation(database, orgId);
    await database.system.query(
      `INSERT INTO webhooks (id, org_id, name, url, events, enabled, secret) VALUES ($1, $2, 'bench', $3, $4, true, $5)`,
      [newId('whk'), orgId, url, ['generation.completed'], secrets.seal(`whsec_${'0'.repeat(64)}`)],
    );
  }
  const events = Array.from({ length: count }, (_, index) => event(orgs[index % WEBHOOKS] ?? ''));
  await database.system.query(
    `INSERT INTO outbox (topic, key, event) SELECT 'events', e ->> 'orgId', e FROM jsonb_array_elements($1::jsonb) e`,
    [JSON.stringify(events)],
  );
}

async function waiting({ database }: BenchDatabase): Promise<number> {
  const [row] = await database.system.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM webhook_deliveries WHERE status <> 'succeeded'`,
  );
  return row?.n ?? 0;
}

/** Its connections stay open between the two parts, like those of `fetch`. */
const egress = createEgress({ config: { egress: { allow: ['127.0.0.0/8'] } } });

async function withPenstock(bench: BenchDatabase, count: number): Promise<void> {
  const secrets = createSecretBox({ current: 'a signing secret of the benchmark', previous: null });
  await enqueue(bench, secrets, count);
  const { database } = bench;
  const worker = createDeliveryWorker({
    database,
    egress,
    secrets,
    isUnderstood: () => Promise.resolve(true),
    files: { sign: (_: string, value: unknown) => value as never },
    config: { webhooks: { retryDelaysMs: [0, 30_000] }, jobs: { retentionDays: 30 } },
    logger: silent,
  });
  worker.start();
  while ((await waiting(bench)) > 0) await sleep(250);
  await worker.close();
}

interface Figures {
  perSecond: number;
  cpuUs: number;
  postgresUs: number;
}

/** The first part warms up the JIT compilers for the measured second part. */
async function measured(send: (count: number) => Promise<void>, postmaster: number | null): Promise<Figures> {
  const count = Number(countText);
  await send(count);
  const [cpu, database, start] = [
    process.cpuUsage(),
    postmaster === null ? 0 : treeCpuMs(postmaster),
    performance.now(),
  ];
  await send(count);
  const { user, system } = process.cpuUsage(cpu);
  const databaseMs = postmaster === null ? 0 : treeCpuMs(postmaster) - database;
  return {
    perSecond: (count * 1000) / (performance.now() - start),
    cpuUs: (user + system) / count,
    postgresUs: (databaseMs * 1000) / count,
  };
}

const figures =
  sender === 'fetch'
    ? await measured(withFetch, null)
    : await withDatabase(async (bench) =>
        measured((count) => withPenstock(bench, count), await postmasterOf(bench.config.dataDir)),
      );
console.log(JSON.stringify(figures));
process.exit(0); // Both keep their connections open.
