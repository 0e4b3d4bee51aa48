import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInstallation } from '../support/installation.js';
import type { Installation } from '../support/installation.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

/** Not a superuser, who may always connect. */
const ROLE = `full_${process.pid}`;
let installation: Installation;
let server: TestServer;

beforeAll(async () => {
  installation = await createInstallation();
  const url = new URL(installation.databaseUrl);
  await installation.sql(
    `CREATE ROLE ${ROLE} LOGIN PASSWORD 'x' IN ROLE ${url.username}, penstock_system, penstock_tenant`,
  );
  [url.username, url.password] = [ROLE, 'x'];
  server = await startPenstock({ installation, role: 'api', env: { DATABASE_URL: url.href } });
});
afterAll(async () => {
  await server?.close();
  await installation.sql(`DROP ROLE ${ROLE}`);
  await installation.close();
});

const limit = (connections: number) => installation.sql(`ALTER ROLE ${ROLE} CONNECTION LIMIT ${connections}`);

async function readiness(): Promise<number> {
  const { statusCode, body } = await server.raw('/readyz', { method: 'GET' });
  await body.dump();
  return statusCode;
}

test.each([
  ['are admitted', 'penstock_admit'],
  ["read an organisation's rows", 'FROM jobs WHERE'],
])(
  'a process whose connections over which calls %s are lost is not ready while PostgreSQL has no other for it',
  async (_what, statement) => {
    const { key } = await installation.createOrg();
    expect((await server.rest('GET', '/jobs', { key })).status).toBe(200);
    const theirs = `FROM pg_stat_activity WHERE usename = $1 AND query LIKE $2`;
    const values = [ROLE, `%${statement}%`];
    await limit(1);
    const ended = await installation.sql(`SELECT pg_terminate_backend(pid) ${theirs}`, values);
    expect(ended.length).toBeGreaterThan(0);
    await eventually(async () => (await readiness()) === 503);
    await limit(-1);
    await eventually(async () => (await readiness()) === 200);
    expect((await server.rest('GET', '/jobs', { key })).status).toBe(200);
  },
);
