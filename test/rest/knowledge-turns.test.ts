import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLAIM } from '../../src/agents/knowledge/knowledge.queries.js';
import { makeAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;

// Without a worker: its readers' turns are taken here, one by one or all at once.
beforeAll(async () => {
  penstock = await startPenstock({ role: 'api' });
});
afterAll(() => penstock?.close());

/** An organisation with an agent. */
async function shelf() {
  const { key } = await penstock.createOrg({ plan: 'business_monthly' });
  const agentId = await makeAgent(penstock, key);
  const path = `/agents/${agentId}/knowledge`;
  return {
    agentId,
    async upload(filename: string): Promise<void> {
      const form = new FormData();
      form.append('file', new Blob([filename]), filename);
      const headers = { authorization: `Bearer ${key}` };
      const answer = await fetch(`${penstock.baseUrl}${path}`, { method: 'POST', headers, body: form });
      expect(answer.status).toBe(200);
    },
    async remove(id: string): Promise<void> {
      expect((await penstock.rest('DELETE', `${path}/${id}`, { key })).status).toBe(200);
    },
  };
}

interface Claimed {
  id: string;
  agent_id: string;
}

/** As many readers take a file each, at the same moment. */
async function claim(readers: number): Promise<Claimed[]> {
  const { database } = penstock.services;
  const connections = await Promise.all(Array.from({ length: readers }, () => database.dedicated()));
  const rows = await Promise.all(
    connections.map((one) => one.query<Claimed>(CLAIM, ['wrk_test', 90_000, false])),
  );
  await Promise.all(connections.map((one) => one.close()));
  return rows.flat();
}

const READ = `UPDATE knowledge_files SET status = 'completed', updated_at = clock_timestamp() WHERE id = $1`;

test('an organisation that deletes its files once they are read has no more turns than one that keeps them', async () => {
  const [crowd, other] = await Promise.all([shelf(), shelf()]);
  await other.upload('kept.txt');
  const [kept] = await claim(1);
  await penstock.installation.sql(READ, [kept?.id]);
  for (const n of [1, 2, 3]) await crowd.upload(`${n}.txt`);
  for (const n of [1, 2, 3]) await other.upload(`${n}.txt`);
  const turns: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const [{ id, agent_id: agentId } = { id: '', agent_id: '' }] = await claim(1);
    await penstock.installation.sql(READ, [id]);
    turns.push(agentId);
    if (agentId !== crowd.agentId) continue;
    await crowd.remove(id);
    await crowd.upload('again.txt');
  }
  const [c, o] = [crowd.agentId, other.agentId];
  expect(turns).toEqual([c, o, c, o, c, o]);
  expect((await claim(3)).map(({ agent_id: agentId }) => agentId)).toEqual([c, c, c]);
});

test('readers that take files at the same moment take them of different organisations, and of one where no other has any', async () => {
  const shelves = await Promise.all(Array.from({ length: 6 }, shelf));
  // One organisation's are all older than the next one's.
  for (const { upload } of shelves) for (let n = 0; n < 3; n += 1) await upload(`${n}.txt`);
  const everybody = new Set(shelves.map(({ agentId }) => agentId));
  for (const _ of [1, 2, 3]) {
    const taken = (await claim(6)).map(({ agent_id: agentId }) => agentId);
    expect(new Set(taken)).toEqual(everybody);
  }
  const [last] = shelves;
  for (let n = 0; n < 6; n += 1) await last?.upload(`${n}.txt`);
  const ids = (await claim(6)).map(({ id }) => id);
  expect(new Set(ids).size).toBe(6);
});
