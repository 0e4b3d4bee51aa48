import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Config } from '../../src/config/index.js';
import { createDatabase, migrate, openInstallation } from '../../src/database/index.js';
import type { Installation } from '../../src/database/index.js';
import { cloneDatabase, createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';

const logger = pino({ level: 'silent' });
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.close());

/** An installation as a process with this secret opens it. */
function open(secret: string | null, previous: string | null = null): Promise<Installation> {
  const config: Config = { ...db.config, signing: { secret, previous } };
  return openInstallation({ config, database: db.database });
}

async function withAll(
  installations: Promise<Installation>[],
  check: (opened: Installation[]) => Promise<void>,
) {
  const opened = await Promise.all(installations);
  try {
    await check(opened);
  } finally {
    await Promise.all(opened.map((installation) => installation.close()));
  }
}

const agreements = (opened: Installation[]) =>
  Promise.all(opened.map((installation) => installation.agrees()));

test('without SIGNING_SECRET one is made, once, for all processes on a database', async () => {
  await withAll([open(null), open(null), open(null)], async (opened) => {
    expect(opened[0]?.signingSecret).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(opened.map(({ signingSecret }) => signingSecret)).size).toBe(1);
    expect(new Set(opened.map(({ id }) => id)).size).toBe(1);
    expect(await agreements(opened)).toEqual([true, true, true]);
  });
});

test('processes with different secrets are not ready while both live', async () => {
  await withAll([open('one')], async ([first]) => {
    await withAll([open('two')], async (others) => {
      expect(await agreements([...others, ...(first ? [first] : [])])).toEqual([false, false]);
    });
    await expect.poll(() => first?.agrees()).toBe(true);
  });
});

test('a change of secrets is no disagreement with processes that still run with the previous one', async () => {
  await withAll([open('old'), open('old'), open('new', 'old')], async (opened) => {
    expect(await agreements(opened)).toEqual([true, true, true]);
    await withAll([open('other', 'older')], async ([stranger]) => {
      expect(await stranger?.agrees()).toBe(false);
      expect(await agreements(opened)).toEqual([false, false, false]);
    });
  });
});

test('what a process seals is understood only while all that live accept its secret', async () => {
  const understood = (opened: Installation[]) =>
    Promise.all(opened.map((installation) => installation.isUnderstood()));
  await withAll([open('new', 'old')], async (changed) => {
    await withAll([open('old')], async (left) => {
      expect(await understood([...changed, ...left])).toEqual([false, true]);
    });
    await expect.poll(() => understood(changed)).toEqual([true]);
    await withAll([open('old', 'new')], async (prepared) => {
      expect(await understood([...changed, ...prepared])).toEqual([true, true]);
    });
  });
});

test('with the embedded database the secret lies in DATA_DIR, readable by its owner only', async () => {
  const config: Config = { ...db.config, database: { ...db.config.database, url: null } };
  const embedded = () => openInstallation({ config, database: db.database });
  await withAll([embedded(), embedded()], async (opened) => {
    const kept = await readFile(join(db.config.dataDir, 'signing-secret'), 'utf8');
    expect(opened.map(({ signingSecret }) => signingSecret)).toEqual([kept, kept]);
  });
});

test('an owner without superuser rights migrates and works, given the two roles', async () => {
  const clone = await cloneDatabase();
  const admin = new pg.Client({ connectionString: clone.url });
  await admin.connect();
  const owner = `owner_${process.pid}`;
  try {
    const name = new URL(clone.url).pathname.slice(1);
    await admin.query(`CREATE ROLE ${owner} LOGIN PASSWORD 'x' CREATEDB`);
    await admin.query(`GRANT penstock_tenant, penstock_system TO ${owner}`);
    await admin.query(`CREATE DATABASE ${name}_owned OWNER ${owner}`);
    const url = new URL(clone.url);
    url.pathname = `/${name}_owned`;
    url.username = owner;
    url.password = 'x';
    expect((await migrate({ url: url.href, logger })).length).toBeGreaterThan(0);
    const config: Config = { ...db.config, database: { ...db.config.database, url: url.href } };
    const database = await createDatabase({ config, logger });
    await database.system.query(
      `INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ('org_o', 'o', 'free', 'usr_o')`,
    );
    expect(await database.tenantQuery('org_o', 'SELECT id FROM organizations')).toEqual([{ id: 'org_o' }]);
    expect(await database.tenantQuery('org_p', 'SELECT id FROM organizations')).toEqual([]);
    await database.close();
    await admin.query(`DROP DATABASE ${name}_owned WITH (FORCE)`);
    await admin.query(`DROP ROLE ${owner}`);
  } finally {
    await admin.end();
    await clone.drop();
  }
});
