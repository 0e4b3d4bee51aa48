import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let penstock: TestServer;

beforeAll(async () => {
  penstock = await startPenstock();
});
afterAll(() => penstock?.close());

/** An organisation with an agent, and what becomes of its files. */
async function shelf() {
  const { key } = await penstock.createOrg({ plan: 'business_monthly' });
  const agentId = await makeAgent(penstock, key);
  return {
    async upload(text: string, filename: string): Promise<void> {
      const form = new FormData();
      form.append('file', new Blob([text]), filename);
      const url = `${penstock.baseUrl}/agents/${agentId}/knowledge`;
      const headers = { authorization: `Bearer ${key}` };
      expect((await fetch(url, { method: 'POST', headers, body: form })).status).toBe(200);
    },
    async statuses(): Promise<string[]> {
      const sql = 'SELECT status FROM knowledge_files WHERE agent_id = $1';
      return (await penstock.installation.sql<{ status: string }>(sql, [agentId])).map(
        ({ status }) => status,
      );
    },
    async passages(): Promise<string[]> {
      const sql = 'SELECT text FROM knowledge_chunks WHERE agent_id = $1 ORDER BY file_id, position';
      return (await penstock.installation.sql<{ text: string }>(sql, [agentId])).map(({ text }) => text);
    },
  };
}

test("one organisation's pile of files does not keep another's waiting", async () => {
  const [crowd, other] = await Promise.all([shelf(), shelf()]);
  const rows = 'one,two,three\n'.repeat(20_000);
  await Promise.all(Array.from({ length: 8 }, (_, n) => crowd.upload(`a,b,c\n${rows}`, `${n}.csv`)));
  await other.upload('The weir is open.', 'weir.txt');
  await eventually(async () => (await other.statuses())[0] === 'completed');
  const left = (await crowd.statuses()).filter((status) => status === 'pending');
  expect(left.length).toBeGreaterThanOrEqual(3);
  await eventually(async () => (await crowd.statuses()).every((status) => status === 'completed'), {
    timeoutMs: 60_000,
  });
}, 90_000);

test.each([
  ['Name;Preis\nApfel;1,50\n', 'Name: Apfel; Preis: 1,50'],
  ['id,remark\n2,four; five\n', 'id: 2; remark: four; five'],
  ['a|b\n1|2,5\n', 'a: 1; b: 2,5'],
  ['"one, two"\tthree\n1\t2\n', 'one, two: 1; three: 2'],
  ['remark\nall in one\n', 'remark: all in one'],
])('of a table one mark parts the cells: %j', async (table, passage) => {
  const { upload, statuses, passages } = await shelf();
  await upload(table, 'table.csv');
  await eventually(async () => (await statuses())[0] === 'completed');
  expect(await passages()).toEqual([passage]);
});
