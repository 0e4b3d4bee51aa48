import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAgentRetention } from '../../src/agents/index.js';
import type { Retention } from '../../src/jobs/index.js';
import { makeAgent, runAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let penstock: TestServer;
let retention: Retention;
let key: string;

beforeAll(async () => {
  penstock = await startPenstock();
  const { database, files } = penstock.services;
  retention = createAgentRetention({
    database,
    removeFiles: (orgId, ids) => files.remove(orgId, ids),
    retentionDays: 30,
    logger: pino({ level: 'silent' }),
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => penstock?.close());

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const rowsOf = async (table: string, where: string) =>
  (await penstock.installation.sql(`SELECT 1 FROM ${table} WHERE ${where}`)).length;
const age = (runId: string, days: number) =>
  penstock.installation.sql(
    `UPDATE agent_runs SET completed_at = now() - ${days} * interval '1 day' WHERE id = $1`,
    [runId],
  );

test('a run is forgotten after RETENTION_DAYS with its steps, its session and its files; a younger one stays whole', async () => {
  const id = await makeAgent(penstock, key, { tools: ['generate_chart'] });
  const attachments = [{ type: 'image', url: PIXEL, name: 'pixel.png' }];
  const ask = () =>
    runAgent(penstock, key, id, { input: 'Draw a bar chart of apples 3, pears 5', attachments });
  const [old, young] = [await ask(), await ask()];
  const urlOf = (run: typeof old) => {
    const { url } = run.steps.find(({ type }) => type === 'tool_result')!.tool_output as { url: string };
    const { pathname, search } = new URL(url);
    return `${penstock.origin}${pathname}${search}`;
  };
  await age(old.runId, 31);
  await age(young.runId, 29);
  expect(await retention.sweep()).toBe(1);
  const read = (runId: string) => penstock.rest('GET', `/agents/${id}/runs/${runId}`, { key });
  expect(await read(old.runId)).toMatchObject({ status: 404, body: { error: 'Run not found' } });
  expect((await fetch(urlOf(old))).status).toBe(404);
  for (const table of ['agent_run_steps', 'agent_run_events', 'files'])
    expect(await rowsOf(table, `run_id = '${old.runId}'`)).toBe(0);
  expect(await rowsOf('agent_sessions', `agent_id = '${id}'`)).toBe(1);
  expect(await read(young.runId)).toMatchObject({ status: 200 });
  expect((await fetch(urlOf(young))).status).toBe(200);
  // The chart and the picture that was attached.
  expect(await rowsOf('files', `run_id = '${young.runId}'`)).toBe(2);
});

test('a deleted agent leaves no knowledge, no memory and, in the end, no row', async () => {
  const id = await makeAgent(penstock, key, { memory_enabled: true });
  const form = new FormData();
  form.append('file', new Blob(['The gate opens at nine.']), 'gate.txt');
  const headers = { authorization: `Bearer ${key}` };
  await fetch(`${penstock.baseUrl}/agents/${id}/knowledge`, { method: 'POST', headers, body: form });
  await runAgent(penstock, key, id, { input: 'My name is Ada.' });
  expect(await rowsOf('agent_memories', `agent_id = '${id}'`)).toBe(1);
  const [file] = (await penstock.installation.sql(
    `SELECT file_id FROM knowledge_files WHERE agent_id = '${id}'`,
  )) as { file_id: string }[];
  await penstock.rest('DELETE', `/agents/${id}`, { key });
  await eventually(async () => (await rowsOf('knowledge_chunks', `agent_id = '${id}'`)) === 0);
  expect(await rowsOf('knowledge_files', `agent_id = '${id}'`)).toBe(0);
  expect(await rowsOf('files', `id = '${file!.file_id}'`)).toBe(0);
  expect(await rowsOf('agent_memories', `agent_id = '${id}'`)).toBe(0);
  await penstock.installation.sql(
    `UPDATE agents SET deleted_at = now() - interval '31 days' WHERE id = '${id}'`,
  );
  await retention.sweep();
  expect(await rowsOf('agents', `id = '${id}'`)).toBe(0);
});

test('a file that came in while its agent was deleted is found and removed', async () => {
  const id = await makeAgent(penstock, key);
  const form = new FormData();
  form.append('file', new Blob(['Left behind.']), 'left.txt');
  const headers = { authorization: `Bearer ${key}` };
  await fetch(`${penstock.baseUrl}/agents/${id}/knowledge`, { method: 'POST', headers, body: form });
  await penstock.installation.sql(
    `UPDATE agents SET deleted_at = now() - interval '1 hour' WHERE id = '${id}'`,
  );
  await retention.sweep();
  expect(await rowsOf('knowledge_files', `agent_id = '${id}'`)).toBe(0);
});
