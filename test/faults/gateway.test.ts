import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, type TestOrg } from '../support/installation.js';
import type { SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';
import { readLedger, startCluster, type Cluster } from './cluster.js';
import { GATEWAY, overEvents, overWebSocket, setUpGateway, startCompany, type Gateway } from './gateway.js';

/** A real Hive Gateway, installed by `npm run clients` and set up as docs/federation.md says, before Penstock and a company's own subgraph. */
const isRequired = process.env['REQUIRE_CLIENTS'] === '1';
const isInstalled = existsSync(`${GATEWAY}/.installed-package-lock.json`);
if (!isInstalled && !isRequired) console.warn('gateway.test.ts: skipped, `npm run clients` was not run');

let cluster: Cluster;
let company: Awaited<ReturnType<typeof startCompany>>;
let folder: Awaited<ReturnType<typeof setUpGateway>>;
let org: TestOrg;
let port: number;
let api: SpawnedServer;

beforeAll(async () => {
  if (!isInstalled && !isRequired) return;
  expect(isInstalled, 'the gateway is not installed: npm run clients').toBe(true);
  port = await freePort();
  cluster = await startCluster([{ role: 'worker' }]);
  api = await cluster.add({ role: 'api', port });
  org = await cluster.installation.createOrg();
  company = await startCompany();
  const sdl = await readFile(new URL('../../schema/schema.graphql', import.meta.url), 'utf8');
  const penstock = { name: 'penstock', url: `${api.origin}/graphql`, typeDefs: sdl };
  folder = await setUpGateway([penstock, { name: 'company', ...company }]);
});
afterAll(async () => {
  await folder?.remove();
  company?.close();
  await cluster?.close();
});

const MAKE = `mutation ($prompt: String!) {
  generateImage(async: true, input: { prompt: $prompt, size: "512x512" }) { job { id } }
}`;

/** A job that takes a moment, made through the gateway. */
async function makeJob(gateway: Gateway): Promise<string> {
  const { data, errors } = await gateway.graphql<{ generateImage: { job: { id: string } } | null }>(MAKE, {
    key: org.key,
    variables: { prompt: 'a weir @sandbox{"delay_ms": 300}' },
  });
  const id = data?.generateImage?.job.id;
  if (id === undefined) throw new Error(JSON.stringify(errors));
  return id;
}

const TERMINAL = /^job\.(completed|failed|cancelled)$/;
const UPDATES =
  'subscription ($after: String) { jobUpdates(after: $after) { cursor sequence type job { id } } }';
const PROGRESS =
  'subscription ($id: ID!, $after: Int) { jobProgress(id: $id, after: $after) { sequence type } }';

interface Update {
  cursor: string;
  sequence: number;
  type: string;
  job: { id: string };
}

type Ask = typeof overWebSocket;

/** Reads a subscription into `items` until it ends, however it does. @returns what it ended with */
async function readInto<Item>(items: Item[], stream: AsyncIterable<{ data?: unknown; errors?: unknown }>) {
  try {
    for await (const { data, errors } of stream) {
      if (errors !== undefined) return JSON.stringify(errors);
      items.push(...Object.values(data as Record<string, Item>));
    }
    return 'completed';
  } catch (error) {
    return String(error);
  }
}

describe.skipIf(!isInstalled && !isRequired).each([
  ['Server-Sent Events', 'gateway.config.ts', overEvents],
  ['WebSocket', 'websocket.config.ts', overWebSocket],
] as [string, string, Ask][])('behind a Hive Gateway that subscribes over %s', (_name, config, ask) => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await folder.start(config);
  });
  afterAll(() => gateway?.kill());

  it('a query joins fields of both subgraphs', async () => {
    const id = await makeJob(gateway);
    const answer = await gateway.graphql(
      // not in the schema: the company's `order` and `version`
      'query ($id: ID!) { job(id: $id) { id tool order { id status } } version { number } }',
      { key: org.key, variables: { id } },
    );
    expect(answer.errors).toEqual([]);
    expect(answer.data).toEqual({
      job: { id, tool: 'image', order: { id: `order-of-${id}`, status: 'OPEN' } },
      version: { number: '7' },
    });
  });

  it('a mutation that is repeated under its Idempotency-Key charges once', async () => {
    const { key } = await cluster.installation.createOrg();
    const repeat = () =>
      gateway.graphql(MAKE, {
        key,
        variables: { prompt: 'a dam' },
        headers: { 'idempotency-key': `once-${config}` },
      });
    const first = await repeat();
    expect(first.errors).toEqual([]);
    expect((await repeat()).data).toEqual(first.data);
    expect(await readLedger(api, key)).toHaveLength(1);
  });

  it('a refused field leaves its siblings, of both subgraphs', async () => {
    const { key } = await cluster.installation.createKey(org.orgId, { scopes: ['chat'] });
    const { data, errors } = await gateway.graphql(
      // not in the schema: the company's `version`
      '{ jobs { totalCount } penstockOrganization { id } version { number } }',
      { key },
    );
    expect(data).toEqual({
      jobs: null,
      penstockOrganization: { id: org.orgId },
      version: { number: '7' },
    });
    expect(errors.map(({ path, extensions }) => [path, extensions['code']])).toEqual([
      [['jobs'], 'forbidden'],
    ]);
  });

  it('subscriptions resume with `after` when Penstock was killed or stopped, and the gateway killed: no gap, no repeat', async () => {
    const { key } = org;
    const made = [await makeJob(gateway)];
    const updates: Update[] = [];
    const progress: Pick<Update, 'sequence' | 'type'>[] = [];
    /** Both subscriptions, after what they have told of; one job's is over after its last event. @returns how they ended */
    const read = async (): Promise<string[]> => {
      const all = { query: UPDATES, variables: { after: updates.at(-1)?.cursor }, key };
      const one = {
        query: PROGRESS,
        variables: { id: made[0], after: progress.at(-1)?.sequence ?? 0 },
        key,
      };
      const isOver = TERMINAL.test(progress.at(-1)?.type ?? '');
      return Promise.all([
        readInto(updates, ask(gateway, all)),
        isOver ? 'over' : readInto(progress, ask(gateway, one)),
      ]);
    };
    /** Makes jobs until the subscription tells of something new. */
    const told = async () => {
      const before = updates.length;
      const tell = async () => made.push(await makeJob(gateway)) > 0 && updates.length > before;
      await eventually(tell, { everyMs: 200, timeoutMs: 30_000, what: 'an event of jobUpdates' });
    };

    let reading = read();
    await told();
    for (const end of ['SIGKILL', 'SIGTERM'] as const) {
      await api.signal(end);
      await reading;
      api = await cluster.add({ role: 'api', port });
      reading = read();
      await told();
    }
    await gateway.kill();
    await reading;
    gateway = await folder.start(config);
    reading = read();
    await told();

    // What Penstock itself tells of the same time.
    const direct: Update[] = [];
    const since = { query: UPDATES, variables: { after: updates[0]?.cursor }, key };
    void readInto(direct, overWebSocket(api, since));
    const isDone = ({ job, type }: Update) => job.id === made.at(-1) && TERMINAL.test(type);
    await eventually(() => direct.some(isDone) && updates.some(isDone), { timeoutMs: 30_000 });
    await eventually(() => direct.length === updates.length - 1).catch(() => undefined);
    const events = (list: Update[]) => list.map(({ job, sequence, type }) => `${job.id} ${sequence} ${type}`);
    expect(events(updates).slice(1)).toEqual(events(direct));
    expect(new Set(events(updates)).size).toBe(updates.length);
    expect(progress.map(({ sequence }) => sequence)).toEqual(progress.map((_, index) => index + 1));
    expect(progress.at(-1)?.type).toBe('job.completed');
    await gateway.kill();
    await reading;
  });
});
