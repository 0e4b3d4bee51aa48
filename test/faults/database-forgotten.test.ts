import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCuttable } from '../support/cuttable.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let installation: Installation;
let wire: Awaited<ReturnType<typeof createCuttable>>;
let server: TestServer;
beforeAll(async () => {
  installation = await createInstallation();
  wire = await createCuttable(installation.databaseUrl);
  server = await startPenstock({ installation, env: { DATABASE_URL: wire.url } });
});
afterAll(async () => {
  await server?.close();
  await wire.close();
  await installation.close();
});

const body = { messages: [{ role: 'user', content: 'Hello' }] };
const chat = async (key: string) => (await server.rest('POST', '/chat/completions', { key, body })).status;
const listening = () =>
  installation.sql<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'penstock-hints' AND datname = current_database()`,
  );
const list = async (key: string) => (await server.rest('GET', '/jobs', { key })).status;

test('connections that the network forgot while nobody used them cost no call', async () => {
  const { key } = await installation.createOrg();
  expect([await chat(key), await list(key)]).toEqual([200, 200]);
  wire.forget();
  await sleep(16_000);
  expect(await Promise.all([chat(key), list(key)])).toEqual([200, 200]);
}, 60_000);

test.each([
  ['', 'forget'],
  [' with their backends', 'bereave'],
] as const)(
  'connections that the network forgets%s while they are used are given up',
  async (_, fault) => {
    const { key } = await installation.createOrg();
    const calling = Array.from({ length: 20 }, async (_, index) => {
      await sleep(index * 50);
      if (index === 10) wire[fault]();
      await Promise.all([list(key), chat(key)]);
    });
    await Promise.all(calling);
    await eventually(async () => (await chat(key)) === 200 && (await list(key)) === 200);
  },
  60_000,
);

test.each(['takes', 'refuses'])(
  'a statement that is slow is waited for, and costs no connection, where PostgreSQL %s new ones',
  async (newOnes) => {
    const { key } = await installation.createOrg();
    expect([await chat(key), await list(key)]).toEqual([200, 200]);
    const [before] = await eventually(async () => {
      const found = await listening();
      return found.length === 1 && found;
    });
    if (newOnes === 'refuses') wire.refuse();
    const locked = installation.sql(
      'DO $$ BEGIN LOCK TABLE usage_ledger IN ACCESS EXCLUSIVE MODE; PERFORM pg_sleep(3.5); END $$',
    );
    const meanwhile = Array.from({ length: 30 }, async (_, index) => {
      await sleep(index * 100);
      return list(key);
    });
    expect(await sleep(100).then(() => chat(key))).toBe(200);
    expect(new Set(await Promise.all(meanwhile))).toEqual(new Set([200]));
    await locked;
    expect(await listening()).toEqual([before]);
    wire.mend();
  },
);
