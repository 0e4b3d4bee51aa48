import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, readRun } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { spawnPenstock } from '../support/spawned.js';
import type { SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

/** An API process here, workers as processes of their own: runs go on elsewhere, or not. */
let api: TestServer;
let key: string;
let orgId: string;
let agentId: string;
const workers: SpawnedServer[] = [];

beforeAll(async () => {
  // Runs are watched by asking often.
  api = await startPenstock({
    role: 'api',
    plans: { plans: { cli_team: { rate: { rpm: 60_000, burst: 60_000 } } } },
  });
  ({ key, orgId } = await api.createOrg({ plan: 'cli_team' }));
  agentId = await makeAgent(api, key, { tools: ['generate_text'] });
});
afterAll(async () => {
  for (const worker of workers) await worker.close();
  await api?.close();
});

async function startWorker(): Promise<SpawnedServer> {
  const worker = await spawnPenstock(api.installation, { role: 'worker' });
  workers.push(worker);
  return worker;
}

const write = { tool_call: { name: 'generate_text', arguments: { prompt: 'Hello', max_tokens: 20 } } };
const script = (...steps: object[]) => `@sandbox${JSON.stringify({ steps })}`;

interface Run {
  id: string;
  status: string;
  totalSteps: number;
  creditsUsed: number;
  errorMessage: string | null;
  steps: { stepType: string }[];
}

async function start(input: string): Promise<string> {
  const { data } = await api.graphql<{ runAgent: { id: string } }>(
    'mutation ($id: ID!, $input: RunAgentInput!) { runAgent(id: $id, input: $input) { id } }',
    { key, variables: { id: agentId, input: { input } } },
  );
  return data!.runAgent.id;
}

async function read(id: string): Promise<Run> {
  const query = `{ agentRun(id: "${id}") { id status totalSteps creditsUsed errorMessage steps { stepType } } }`;
  const { data } = await api.graphql<{ agentRun: Run }>(query, { key });
  return data!.agentRun;
}

/** The settled credits of a run, once nothing of it is reserved any more. */
async function charged(runId: string): Promise<number> {
  return await eventually(
    async () => {
      const { nodes } = await api.services.usage.records({ orgId, first: 1000 });
      const rows = nodes.filter((row) => row.runId === runId);
      if (rows.some(({ state }) => state === 'reserved')) return undefined;
      const settled = rows.filter(({ state }) => state === 'settled');
      return { credits: settled.reduce((sum, { amounts }) => sum + (amounts.credits ?? 0), 0) / 100 };
    },
    { timeoutMs: 40_000 },
  ).then(({ credits }) => credits);
}

test('a worker that is stopped hands its run over: another goes on from the stored steps, nothing is done twice', async () => {
  const first = await startWorker();
  const runId = await start(script(write, { ...write, delay_ms: 1500 }, write));
  await eventually(async () => (await read(runId)).totalSteps >= 3);
  const stream = readRun(api, 'GET', `/agents/${agentId}/runs/${runId}/stream`, { key });
  expect(await first.signal('SIGTERM')).toBe(0);
  const between = await read(runId);
  expect(between.status).toBe('running');
  // The round that was under way was finished before it was given back.
  expect(between.totalSteps).toBe(6);
  await startWorker();
  const seen = await stream;
  expect(seen.last).toMatchObject({ type: 'done' });
  expect(seen.ids).toEqual(seen.ids.map((_, index) => index + 1));
  const run = await read(runId);
  expect(run.steps.map(({ stepType }) => stepType)).toEqual([
    ...['thinking', 'tool_call', 'tool_result'],
    ...['thinking', 'tool_call', 'tool_result'],
    ...['thinking', 'tool_call', 'tool_result'],
    'response',
  ]);
  expect(await charged(runId)).toBe(run.creditsUsed);
}, 90_000);

test('a worker that is killed leaves its run failed, its steps kept, charged once for what was done', async () => {
  await eventually(() => workers.length >= 2);
  const runId = await start(script(write, { delay_ms: 600_000 }));
  await eventually(async () => (await read(runId)).totalSteps >= 3);
  for (const worker of workers) await worker.signal('SIGKILL');
  await startWorker();
  const run = await eventually(
    async () => {
      const found = await read(runId);
      return found.status !== 'running' && found;
    },
    { timeoutMs: 45_000 },
  );
  expect(run).toMatchObject({ status: 'failed', errorMessage: 'Agent run was interrupted' });
  expect(run.steps.map(({ stepType }) => stepType)).toEqual([
    'thinking',
    'tool_call',
    'tool_result',
    'error',
  ]);
  expect(await charged(runId)).toBe(run.creditsUsed);
}, 120_000);

test('a paused worker whose run was taken away writes nothing when it wakes up', async () => {
  const runId = await start(script(write, { ...write, delay_ms: 3000 }, { delay_ms: 600_000 }));
  await eventually(async () => (await read(runId)).totalSteps >= 3);
  const worker = workers.at(-1)!;
  worker.pause();
  await api.installation.sql(`UPDATE agent_runs SET lease_until = now() - interval '1 s' WHERE id = $1`, [
    runId,
  ]);
  await startWorker();
  const run = await eventually(
    async () => {
      const found = await read(runId);
      return found.status === 'failed' && found;
    },
    { timeoutMs: 30_000 },
  );
  worker.resume();
  await new Promise((resolve) => setTimeout(resolve, 4000));
  expect(await read(runId)).toEqual(run);
  expect(await charged(runId)).toBe(run.creditsUsed);
}, 120_000);
