import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ApiError } from '../../src/contract/errors.js';
import { makeAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

interface FileRecord {
  id: string;
  filename: string;
  status: string;
  chunk_count: number;
}

let penstock: TestServer;
let key: string;
let orgId: string;

beforeAll(async () => {
  // Files are watched by asking often.
  const rate = { rpm: 60_000, burst: 60_000 };
  penstock = await startPenstock({ plans: { plans: { business_monthly: { rate } } } });
  ({ key, orgId } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => penstock?.close());

/** An agent whose files, name by name, have been read. */
async function agentWith(files: Record<string, string>): Promise<string> {
  const agentId = await makeAgent(penstock, key);
  for (const [filename, text] of Object.entries(files)) {
    const form = new FormData();
    form.append('file', new Blob([text]), filename);
    const headers = { authorization: `Bearer ${key}` };
    const path = `${penstock.baseUrl}/agents/${agentId}/knowledge`;
    expect((await fetch(path, { method: 'POST', headers, body: form })).status).toBe(200);
  }
  await allRead(agentId);
  return agentId;
}

async function filesOf(agentId: string): Promise<FileRecord[]> {
  const path = `/agents/${agentId}/knowledge`;
  return (await penstock.rest<{ files: FileRecord[] }>('GET', path, { key })).body.files;
}

function allRead(agentId: string): Promise<FileRecord[]> {
  return eventually(async () => {
    const files = await filesOf(agentId);
    return files.every(({ status }) => status === 'completed') && files;
  });
}

const duplicate = (agentId: string) =>
  penstock.rest<{ agent: { id: string } }>('POST', `/agents/${agentId}/duplicate`, { key });

const passagesOf = (files: FileRecord[]) =>
  files.map(({ chunk_count: count }) => count).sort((a, b) => a - b);

test('a duplicate that is made while its source is deleted has all of its files, or is refused', async () => {
  const texts = Object.fromEntries(
    Array.from({ length: 6 }, (_, nth) => [`${nth}.txt`, `Lock ${nth} opens.`]),
  );
  const statuses = new Set<number>();
  const first = await agentWith(texts);
  for (let afterMs = 0; afterMs <= 20; afterMs += 4) {
    // Nothing is read again for it.
    const source = (await duplicate(first)).body.agent.id;
    const making = duplicate(source);
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    const deleting = penstock.rest('DELETE', `/agents/${source}`, { key });
    const [made, deleted] = await Promise.all([making, deleting]);
    expect(deleted.status).toBe(200);
    statuses.add(made.status);
    if (made.status === 404) expect(made.body).toMatchObject({ error: 'Agent not found' });
    else expect(await filesOf(made.body.agent.id)).toHaveLength(6);
  }
  expect([...statuses].every((status) => status === 200 || status === 404)).toBe(true);
});

test('a duplicate has files of its own', async () => {
  const source = await agentWith({ 'lock.txt': 'The lock gate opens at noon.' });
  const { body } = await duplicate(source);
  const [file] = await filesOf(source);
  await penstock.rest('DELETE', `/agents/${source}/knowledge/${file!.id}`, { key });
  const agentId = body.agent.id;
  expect(await filesOf(agentId)).toMatchObject([{ filename: 'lock.txt', status: 'completed' }]);
  const asked = { agentId, agentOrgId: orgId, query: 'lock gate', limit: 1 };
  expect(await penstock.services.knowledge.search(asked)).toMatchObject([
    { text: 'The lock gate opens at noon.' },
  ]);
});

test('a duplicate takes at most 1,000 passages along; its further files are read again', async () => {
  const line = (nth: number) => `Gate ${nth} of the lock opens at ${nth} past noon.\n`;
  const long = Array.from({ length: 9_000 }, (_, nth) => line(nth)).join('');
  const source = await agentWith({ 'a.txt': long, 'b.txt': `${long}.`, 'c.txt': 'The mill grinds.' });
  const passages = passagesOf(await filesOf(source));
  expect(passages[1]! + passages[2]!).toBeGreaterThan(1_000);
  expect(passages[2]).toBeLessThan(1_000);
  const { id } = (await duplicate(source)).body.agent;
  const open = (await filesOf(id)).filter(({ status }) => status !== 'completed');
  expect(open).toHaveLength(1);
  expect(passagesOf(await allRead(id))).toEqual(passages);
});

test('a duplicate whose files cannot be copied leaves no agent; one whose file was deleted meanwhile comes without it', async () => {
  const source = await agentWith({ 'mill.txt': 'mill.txt', 'pond.txt': 'pond.txt' });
  const agents = async () =>
    (await penstock.rest<{ agents: unknown[] }>('GET', '/agents', { key })).body.agents.length;
  const before = await agents();
  const { files } = penstock.services;
  const save = vi.spyOn(files, 'save').mockRejectedValueOnce(new Error('ENOSPC'));
  expect((await duplicate(source)).status).toBe(500);
  save.mockRestore();
  expect(await agents()).toBe(before);

  const read = vi.spyOn(files, 'read').mockRejectedValueOnce(new ApiError('not_found', 'Not found'));
  const made = await duplicate(source);
  read.mockRestore();
  expect(made.status).toBe(200);
  expect(await filesOf(made.body.agent.id)).toHaveLength(1);
});
