import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { createDatabase } from '../../src/database/index.js';
import type { Database } from '../../src/database/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';

const POOL_SIZE = 3;
let db: TestDatabase;
let admin: pg.Client;

beforeAll(async () => {
  db = await createTestDatabase({ DATABASE_POOL_SIZE: String(POOL_SIZE) });
  admin = new pg.Client({ connectionString: db.url });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await db.close();
});

/** Ends the backend that `work` reports, from outside. */
const terminate = (pid: number) => admin.query('SELECT pg_terminate_backend($1)', [pid]);
const OWN_PID = 'SELECT pg_backend_pid() AS pid';

test('entity transactions whose backend is lost do not use up the pool', async () => {
  for (let round = 0; round < POOL_SIZE + 2; round++) {
    const lost = db.database.tenant('org_a', async (em) => {
      const [row] = await em.execute<{ pid: number }[]>(OWN_PID);
      await terminate(row?.pid ?? 0);
      await em.execute('SELECT 1');
    });
    await expect(lost).rejects.toMatchObject({ code: 'unavailable', status: 503 });
  }
  const answers = await Promise.all(
    Array.from({ length: POOL_SIZE * 2 }, () =>
      db.database.tenant('org_a', (em) => em.execute('SELECT 1 AS n')),
    ),
  );
  expect(answers).toHaveLength(POOL_SIZE * 2);
});

test('system transactions whose backend is lost do not use up the pool', async () => {
  for (let round = 0; round < POOL_SIZE + 2; round++) {
    const lost = db.database.transaction(async (sql) => {
      const [row] = await sql.query<{ pid: number }>(OWN_PID);
      await terminate(row?.pid ?? 0);
      await sql.query('SELECT 1');
    });
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
  }
  const answers = await Promise.all(
    Array.from({ length: POOL_SIZE * 2 }, () => db.database.system.query('SELECT 1')),
  );
  expect(answers).toHaveLength(POOL_SIZE * 2);
});

test('a failed transaction is rolled back and its connection serves the next', async () => {
  for (let round = 0; round < POOL_SIZE + 1; round++) {
    await expect(
      db.database.transaction(async (sql) => {
        await sql.query(
          `INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ('org_x', 'x', 'free', 'usr_x')`,
        );
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
  }
  expect(await db.database.system.query(`SELECT 1 FROM organizations WHERE id = 'org_x'`)).toEqual([]);
});

test('hints are heard again after their connection was lost, and listeners are told to look again', async () => {
  const heard: string[] = [];
  let reconnected = false;
  db.database.hints.on('outbox', (payload) => heard.push(payload));
  db.database.hints.onReconnect(() => (reconnected = true));
  await db.database.hints.send('outbox', 'before');
  await expect.poll(() => heard).toEqual(['before']);
  await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'penstock-hints'`,
  );
  await expect.poll(() => reconnected, { timeout: 5000 }).toBe(true);
  await db.database.hints.send('outbox', 'after');
  await expect.poll(() => heard).toEqual(['before', 'after']);
});

test('a dedicated connection comes back by itself', async () => {
  const connection = await db.database.dedicated();
  const [first] = await connection.query<{ pid: number }>(OWN_PID);
  await terminate(first?.pid ?? 0);
  await expect.poll(() => connection.query('SELECT 1 AS n').catch(() => null)).toEqual([{ n: 1 }]);
  await connection.close();
});

test('without PostgreSQL a call waits 5 s, then is refused with a Retry-After', async () => {
  const config = loadConfig({
    DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
    PUBLIC_URL: 'http://127.0.0.1:1',
  });
  const started = performance.now();
  await expect(createDatabase({ config, logger: pino({ level: 'silent' }) })).rejects.toMatchObject({
    code: 'unavailable',
    details: { retryAfter: 1 },
  });
  expect(performance.now() - started).toBeGreaterThan(4000);
});

test('the embedded server is started again after its death, and waiting calls are answered', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'penstock-outage-'));
  let database: Database | undefined;
  try {
    const config = loadConfig({ DATA_DIR: dataDir });
    database = await createDatabase({ config, logger: pino({ level: 'silent' }) });
    for (let round = 0; round < 2; round++) {
      const pidFile = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8');
      process.kill(Number(pidFile.split('\n')[0]), round === 0 ? 'SIGKILL' : 'SIGINT');
      const { system } = database;
      const ask = () => system.query('SELECT 1 AS n').catch((error: unknown) => String(error));
      await expect.poll(ask, { timeout: 15_000 }).toEqual([{ n: 1 }]);
      // Connections that died unused may still cost a call each; within 5 s all answer again (trust.md, promise 14).
      const { tenantQuery, healthy } = database;
      const read = () => tenantQuery('org_a', 'SELECT 2 AS n').catch((error: unknown) => String(error));
      await expect.poll(read, { timeout: 5000 }).toEqual([{ n: 2 }]);
      await expect.poll(() => healthy(), { timeout: 5000 }).toBe(true);
    }
  } finally {
    await database?.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});
