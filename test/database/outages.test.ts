import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.js';
import { createDatabase } from '../../src/database/index.js';
import type { Database } from '../../src/database/index.js';
import { createCuttable } from '../support/cuttable.js';
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
const insertOrganization = (id: string): string =>
  `INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ('${id}', 'x', 'free', 'usr_x')`;

test('an entity transaction whose backend is lost before its COMMIT runs again, and does not use up the pool', async () => {
  for (let round = 0; round < POOL_SIZE + 2; round++) {
    let runs = 0;
    await db.database.tenant('org_a', async (em) => {
      runs += 1;
      const [row] = await em.execute<{ pid: number }[]>(OWN_PID);
      if (runs === 1) await terminate(row?.pid ?? 0);
      await em.execute('SELECT 1');
    });
    expect(runs).toBe(2);
  }
  const answers = await Promise.all(
    Array.from({ length: POOL_SIZE * 2 }, () =>
      db.database.tenant('org_a', (em) => em.execute('SELECT 1 AS n')),
    ),
  );
  expect(answers).toHaveLength(POOL_SIZE * 2);
});

test('a transaction whose backend is lost before its COMMIT runs again, and does not use up the pool', async () => {
  for (let round = 0; round < POOL_SIZE + 2; round++) {
    let runs = 0;
    await db.database.transaction(async (sql) => {
      runs += 1;
      await sql.query(insertOrganization(`org_t${round}`));
      const [row] = await sql.query<{ pid: number }>(OWN_PID);
      if (runs === 1) await terminate(row?.pid ?? 0);
      await sql.query('SELECT 1');
    });
    expect(runs).toBe(2);
  }
  expect(await db.database.system.query(`SELECT 1 FROM organizations WHERE id LIKE 'org_t%'`)).toHaveLength(
    POOL_SIZE + 2,
  );
  const answers = await Promise.all(
    Array.from({ length: POOL_SIZE * 2 }, () => db.database.system.query('SELECT 1')),
  );
  expect(answers).toHaveLength(POOL_SIZE * 2);
});

/** Backends at work on a statement that contains the text. */
const busyWith = async (text: string): Promise<number[]> => {
  const { rows } = await admin.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1`,
    [`%${text}%`],
  );
  return rows.map(({ pid }) => pid);
};

test('a statement that the server ended before its commit is sent again, once', async () => {
  const written = db.database.system.query(
    `${insertOrganization('org_slow')} RETURNING id, pg_sleep(0.5 + 0 * length($1))::text`,
    ['x'],
  );
  await expect.poll(() => busyWith('org_slow')).toHaveLength(1);
  for (const pid of await busyWith('org_slow')) await terminate(pid);
  expect(await written).toMatchObject([{ id: 'org_slow' }]);
});

test('a statement whose connection went silently is not sent again, lest it take effect twice', async () => {
  const wire = await createCuttable(db.url);
  const config = loadConfig({ DATABASE_URL: wire.url, PUBLIC_URL: 'http://127.0.0.1:1' });
  const database = await createDatabase({ config, logger: pino({ level: 'silent' }) });
  try {
    const write = `INSERT INTO organizations (id, name, plan_code, service_user_id)
      SELECT 'org_cut' || nextval('cuts'), 'x', 'free', 'usr_x' FROM pg_sleep(0.5) WHERE $1 = 'x'`;
    await admin.query('CREATE SEQUENCE cuts; GRANT ALL ON SEQUENCE cuts TO PUBLIC');
    const written = expect(database.system.query(write, ['x'])).rejects.toMatchObject({
      code: 'unavailable',
    });
    await expect.poll(() => busyWith('org_cut')).toHaveLength(1);
    wire.cut();
    wire.mend();
    await written;
    await expect.poll(() => busyWith('org_cut')).toHaveLength(0);
    const rows = await database.system.query(`SELECT id FROM organizations WHERE id LIKE 'org_cut%'`);
    expect(rows).toEqual([{ id: 'org_cut1' }]);
  } finally {
    await database.close();
    await wire.close();
  }
});

test('the first call after every idle connection was lost unnoticed is answered, reads and writes alike', async () => {
  const wire = await createCuttable(db.url);
  const config = loadConfig({ DATABASE_URL: wire.url, PUBLIC_URL: 'http://127.0.0.1:1' });
  const database = await createDatabase({ config, logger: pino({ level: 'silent' }) });
  try {
    for (let round = 0; round < 5; round++) {
      const warm = Array.from({ length: 5 }, () => database.tenantQuery('org_a', 'SELECT pg_sleep(0.02)'));
      await Promise.all([...warm, ...warm.map(() => database.system.query('SELECT pg_sleep(0.02)'))]);
      await sleep(30);
      wire.cut();
      wire.mend();
      const answers = await Promise.all([
        database.tenantQuery('org_a', 'SELECT 1 AS n'),
        database.system.query(`${insertOrganization(`org_first${round}`)} RETURNING 1 AS n`, []),
        database.system.query('SELECT 1 AS n'),
        database.transaction((sql) => sql.query('SELECT 1 AS n')),
        database.tenant('org_a', (em) => em.execute('SELECT 1 AS n')),
      ]);
      expect(answers).toEqual(answers.map(() => [{ n: 1 }]));
      expect(await database.healthy()).toBe(true);
    }
  } finally {
    await database.close();
    await wire.close();
  }
});

test('a failed transaction is rolled back and its connection serves the next', async () => {
  for (let round = 0; round < POOL_SIZE + 1; round++) {
    await expect(
      db.database.transaction(async (sql) => {
        await sql.query(insertOrganization('org_x'));
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

test('early rows are told before their transaction commits, and their promise is kept or broken as a whole', async () => {
  const connection = await db.database.dedicated();
  const insert = (id: string) => ({
    name: `early_${id}`,
    text: `${insertOrganization(id)} RETURNING id, pg_backend_pid() AS pid`,
  });
  const found = (id: string) =>
    admin.query('SELECT 1 FROM organizations WHERE id = $1', [id]).then(({ rows }) => rows.length);
  await admin.query('SELECT pg_advisory_lock(4711)');
  const kept = connection.queryWithEarlyRows<{ id: string }>(
    insert('org_kept'),
    [],
    'SELECT pg_advisory_xact_lock(4711)',
  );
  expect(await kept.rows).toMatchObject([{ id: 'org_kept' }]);
  expect(await found('org_kept')).toBe(0);
  await admin.query('SELECT pg_advisory_unlock(4711)');
  await kept.committed;
  expect(await found('org_kept')).toBe(1);

  const faulty = connection.queryWithEarlyRows<{ id: string }>(insert('org_faulty'), [], 'SELECT 1 / 0');
  expect(await faulty.rows).toMatchObject([{ id: 'org_faulty' }]);
  await expect(faulty.committed).rejects.toMatchObject({ code: '22012' });
  expect(await found('org_faulty')).toBe(0);

  const lost = connection.queryWithEarlyRows<{ pid: number }>(insert('org_lost'), [], 'SELECT pg_sleep(20)');
  const [row] = await lost.rows;
  await terminate(row?.pid ?? 0);
  await expect(lost.committed).rejects.toMatchObject({ code: 'unavailable' });
  expect(await found('org_lost')).toBe(0);

  const unread = connection.queryWithEarlyRows(
    { name: 'early_unread', text: 'SELECT 1 / 0' },
    [],
    'SELECT 1',
  );
  await expect(unread.rows).rejects.toMatchObject({ code: '22012' });
  await expect(unread.committed).rejects.toMatchObject({ code: '22012' });
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
    const { system } = database;
    const postmaster = async (): Promise<number> =>
      Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
    for (const signal of ['SIGKILL', 'SIGINT'] as const) {
      const killed = await postmaster();
      process.kill(killed, signal);
      // The killed one's backends may outlive it for a moment, and answer.
      const ask = async () => [await system.query('SELECT 1 AS n'), (await postmaster()) === killed];
      await expect
        .poll(() => ask().catch((error: unknown) => String(error)), { timeout: 15_000 })
        .toEqual([[{ n: 1 }], false]);
      expect(await database.tenantQuery('org_a', 'SELECT 2 AS n')).toEqual([{ n: 2 }]);
      expect(await database.healthy()).toBe(true);
    }
  } finally {
    await database?.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});
