import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let penstock: TestServer;
let holder: pg.Client;
beforeAll(async () => {
  penstock = await startPenstock();
  holder = new pg.Client({ connectionString: penstock.installation.databaseUrl });
  await holder.connect();
});
afterAll(async () => {
  await holder?.end();
  await penstock?.close();
});

/**
 * Ends each statement that waits for a lock, as its time limit would. Not over the holder's connection: within a transaction all looks at
 * `pg_stat_activity` see what the first one saw. @returns how many
 */
async function endWaiting(): Promise<number> {
  const { length } = await penstock.installation.sql(
    `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%settle%'`,
  );
  return length;
}

test('a settlement that waited too long for a lock is tried until it works: what was delivered is charged', async () => {
  const { key, orgId } = await penstock.createOrg({ plan: 'business_monthly' });
  const { sql } = penstock.installation;
  const states = async () =>
    (
      await sql<{ state: string }>(`SELECT state FROM usage_ledger WHERE org_id = $1 AND kind = 'chat'`, [
        orgId,
      ])
    ).map(({ state }) => state);
  const content = '@sandbox{"tokens":20,"delay_ms":500}';
  const body = { stream: true, messages: [{ role: 'user', content }] };
  const asked = fetch(`${penstock.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await eventually(async () => (await states()).length === 1);
  await holder.query('BEGIN');
  await holder.query('SELECT FROM balances WHERE org_id = $1 FOR UPDATE', [orgId]);
  const answer = (await asked).text();
  for (let times = 0; times < 2; times++) await eventually(async () => (await endWaiting()) > 0);
  await holder.query('COMMIT');
  await eventually(async () => (await states()).join() === 'settled');
  expect((await answer).endsWith('data: [DONE]\n\n')).toBe(true);
  const [row] = await sql<{ used: number; reserved: number }>(
    'SELECT used[1]::int AS used, reserved[1]::int AS reserved FROM balances WHERE org_id = $1 AND NOT superseded',
    [orgId],
  );
  expect(row).toEqual({ used: 100, reserved: 0 });
});
