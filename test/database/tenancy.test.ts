import type { EntityManager } from '@mikro-orm/postgresql';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { createDatabase, sqlOf } from '../../src/database/index.js';
import { ApiKey, Member, Organization } from '../../src/access/access.entity.js';
import { Session, SignInLink } from '../../src/access/people/people.entity.js';

let db: TestDatabase;

async function seed(orgId: string): Promise<void> {
  const { system } = db.database;
  await system.query(
    'INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ($1, $1, $2, $3)',
    [orgId, 'free', `usr_${orgId}`],
  );
  await system.query(`INSERT INTO users (id, org_id, kind) VALUES ($1, $2, 'service')`, [
    `usr_${orgId}`,
    orgId,
  ]);
  await system.query(
    'INSERT INTO api_keys (id, org_id, user_id, name, prefix, hash, scopes) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    [`key_${orgId}`, orgId, `usr_${orgId}`, 'k', 'sk_00000000', Buffer.from(orgId), ['chat']],
  );
}

beforeAll(async () => {
  db = await createTestDatabase();
  await seed('org_a');
  await seed('org_b');
});
afterAll(() => db.close());

test('a tenant statement sees only its own organisation, in one statement and again on the same connection', async () => {
  const text = 'SELECT id FROM api_keys WHERE id = ANY($1)';
  for (const own of ['org_a', 'org_b', 'org_a']) {
    const rows = await db.database.tenantQuery<{ id: string }>(own, text, [['key_org_a', 'key_org_b']]);
    expect(rows).toEqual([{ id: `key_${own}` }]);
  }
});

test('the organisation of a tenant statement ends with it', async () => {
  await db.database.tenantQuery('org_a', 'SELECT 1');
  const bound = await db.database.tenantQuery<{ org: string }>(
    '',
    `SELECT current_setting('penstock.org_id', true) AS org`,
  );
  expect(bound).toEqual([{ org: '' }]);
  expect(await db.database.tenantQuery('', 'SELECT id FROM organizations')).toEqual([]);
});

test('an organisation id with SQL in it is only an id that nobody has', async () => {
  const hostile = `org_a' OR true; DROP TABLE api_keys; --`;
  expect(await db.database.tenantQuery(hostile, 'SELECT id FROM api_keys')).toEqual([]);
  expect(await db.database.tenantQuery('org_a', 'SELECT id FROM api_keys')).toHaveLength(1);
});

test('a failed tenant statement leaves its connection usable', async () => {
  const text = 'SELECT 1 / $1::int AS n';
  await expect(db.database.tenantQuery('org_a', text, [0])).rejects.toThrow('division by zero');
  expect(await db.database.tenantQuery('org_a', text, [1])).toEqual([{ n: 1 }]);
  await expect(db.database.tenantQuery('org_a', 'SELECT * FROM nowhere')).rejects.toThrow('nowhere');
  await expect(db.database.tenantQuery('org_a', 'SELECT * FROM nowhere')).rejects.toThrow('nowhere');
});

test('entities come from the bound organisation only, and never without one', async () => {
  const keys = await db.database.tenant('org_a', (em) => em.find(ApiKey, {}));
  expect(keys.map((key) => key.id)).toEqual(['key_org_a']);
  const foreign = await db.database.tenant('org_a', (em) => em.findOne(Organization, { id: 'org_b' }));
  expect(foreign).toBeNull();
  await expect(db.database.orm.em.fork().find(ApiKey, {})).rejects.toThrow();
});

test('row level security holds where the filter is left out', async () => {
  const keys = await db.database.tenant('org_a', (em) => em.find(ApiKey, {}, { filters: false }));
  expect(keys.map((key) => key.id)).toEqual(['key_org_a']);
});

test("what people sign in with is nobody's to read as a tenant", async () => {
  const reads = [(em: EntityManager) => em.count(Session), (em: EntityManager) => em.count(SignInLink)];
  for (const read of reads)
    await expect(db.database.tenant('org_a', read)).rejects.toThrow('permission denied');
});

test('a tenant reads its organisation, members and keys, and changes none of them', async () => {
  const changes = [
    (em: EntityManager) => em.nativeUpdate(Organization, { id: 'org_a' }, { name: 'mine' }),
    (em: EntityManager) => em.nativeDelete(Member, { orgId: 'org_a' }),
    (em: EntityManager) => em.nativeUpdate(ApiKey, { orgId: 'org_a' }, { scopes: [] }),
  ];
  for (const change of changes)
    await expect(db.database.tenant('org_a', change)).rejects.toThrow('permission denied');
});

test('work for all organisations takes the system role for its transaction alone, and its statements are of the same transaction', async () => {
  const role = `SELECT current_user AS role`;
  const seen = await db.database.allTenants(async (em) => {
    const sql = sqlOf(em);
    await sql.query('UPDATE organizations SET name = $1 WHERE id = ANY($2)', ['renamed', ['org_a', 'org_b']]);
    const keys = await em.find(ApiKey, {}, { orderBy: { id: 'asc' } });
    const names = (await em.find(Organization, {})).map(({ name }) => name);
    return { keys: keys.map(({ id }) => id), names, role: await sql.query(role) };
  });
  expect(seen).toEqual({
    keys: ['key_org_a', 'key_org_b'],
    names: ['renamed', 'renamed'],
    role: [{ role: 'penstock_system' }],
  });
  for (let round = 0; round < db.config.database.poolSize * 2; round += 1)
    expect(await db.database.tenant('org_a', (em) => sqlOf(em).query(role))).toEqual([
      { role: 'penstock_tenant' },
    ]);
});

test('what a failed transaction of entities changed is not kept, and its statements neither', async () => {
  const failed = db.database.allTenants(async (em) => {
    (await em.findOneOrFail(Organization, { id: 'org_a' })).name = 'half';
    await em.flush();
    await sqlOf(em).query(`UPDATE organizations SET name = 'half' WHERE id = 'org_b'`);
    throw new Error('no');
  });
  await expect(failed).rejects.toThrow('no');
  expect(await db.database.system.query(`SELECT 1 FROM organizations WHERE name = 'half'`)).toEqual([]);
});

test("every table that holds an organisation's rows forces row level security", async () => {
  const rows = await db.database.system.query<{ relname: string }>(
    `SELECT relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped
     WHERE c.relkind = 'r' AND relnamespace = 'public'::regnamespace AND NOT (relrowsecurity AND relforcerowsecurity)`,
  );
  expect(rows).toEqual([]);
});

test('whole numbers come as numbers', async () => {
  const rows = await db.database.system.query(
    `SELECT 5::bigint AS n, ARRAY[1, -1]::bigint[] AS list, 9007199254740993::bigint AS big`,
  );
  expect(rows).toEqual([{ n: 5, list: [1, -1], big: '9007199254740993' }]);
});

test('options of the connection string do not replace the role', async () => {
  const url = new URL(db.url);
  url.searchParams.set('options', '-c role=none -c work_mem=5MB');
  const config = { ...db.config, database: { ...db.config.database, url: url.href } };
  const database = await createDatabase({ config, logger: pino({ level: 'silent' }) });
  const sql = `SELECT current_user AS role, current_setting('work_mem') AS memory`;
  expect(await database.system.query(sql)).toEqual([{ role: 'penstock_system', memory: '5MB' }]);
  expect(await database.tenantQuery('org_a', sql)).toEqual([{ role: 'penstock_tenant', memory: '5MB' }]);
  expect(await database.tenant('org_a', (em) => em.execute(sql))).toEqual([
    { role: 'penstock_tenant', memory: '5MB' },
  ]);
  await database.close();
});
