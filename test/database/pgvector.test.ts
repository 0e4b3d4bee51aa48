import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../src/database/index.js';
import { makeAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let penstock: TestServer;
let offered: boolean;

beforeAll(async () => {
  penstock = await startPenstock();
  const found = await penstock.installation.sql(
    `SELECT 1 FROM pg_available_extensions WHERE name = 'vector'`,
  );
  offered = found.length > 0;
});
afterAll(() => penstock?.close());

const columnType = async () =>
  (
    await penstock.installation.sql<{ type: string }>(
      `SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute
       WHERE attrelid = 'knowledge_chunks'::regclass AND attname = 'nearby'`,
    )
  ).map(({ type }) => type);

test('a start against a server without it, or that already uses it, changes nothing', async () => {
  const before = await columnType();
  const { databaseUrl } = penstock.installation;
  expect(await migrate({ url: databaseUrl, logger: pino({ level: 'silent' }) })).toEqual([]);
  expect(await columnType()).toEqual(before);
  expect(before.length).toBe(offered ? 1 : 0);
});

test('where the server has pgvector, passages are compared by it, with the same result as without', async (context) => {
  if (!offered) context.skip('this server has no pgvector: TEST_DATABASE_URL names one that has');
  expect(await columnType()).toEqual([expect.stringMatching(/^(half)?v(ector|ec)\(512\)$/)]);
  const { key, orgId } = await penstock.createOrg({ plan: 'business_monthly' });
  const agentId = await makeAgent(penstock, key);
  const lines = Array.from(
    { length: 300 },
    (_, n) => `Gauge ${n} stands at kilometre ${n * 7} of the canal.`,
  );
  const form = new FormData();
  form.append('file', new Blob([lines.join('\n\n')]), 'gauges.md');
  const headers = { authorization: `Bearer ${key}` };
  await fetch(`${penstock.baseUrl}/agents/${agentId}/knowledge`, { method: 'POST', headers, body: form });
  await eventually(async () => {
    const list = await penstock.rest<{ files: { status: string }[] }>('GET', `/agents/${agentId}/knowledge`, {
      key,
    });
    return list.body.files[0]?.status === 'completed';
  });
  const filled = await penstock.installation.sql(
    'SELECT 1 FROM knowledge_chunks WHERE nearby IS NULL OR agent_id <> $1',
    [agentId],
  );
  expect(filled).toEqual([]);
  const search = () =>
    penstock.services.knowledge.search({
      agentId,
      agentOrgId: orgId,
      query: 'guage at kilometer 2058',
      limit: 5,
    });
  const byDatabase = await search();
  expect(byDatabase[0]?.text).toContain('kilometre 2058 ');
  // Another process that finds no column when it first searches: it compares by itself.
  const other = await startPenstock({ installation: penstock.installation, env: { PORT: '0' } });
  await penstock.installation.sql('ALTER TABLE knowledge_chunks DROP COLUMN nearby');
  try {
    const byProcess = await other.services.knowledge.search({
      agentId,
      agentOrgId: orgId,
      query: 'guage at kilometer 2058',
      limit: 5,
    });
    expect(byProcess).toEqual(byDatabase);
  } finally {
    await other.close();
  }
});
