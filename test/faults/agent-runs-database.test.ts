import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { createCuttable } from '../support/cuttable.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { spawnPenstock } from '../support/spawned.js';
import type { SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

/** Workers whose way to PostgreSQL can be cut, beside an API process whose way holds, so that what they leave can be read meanwhile. */
let api: TestServer;
let wire: Awaited<ReturnType<typeof createCuttable>>;
const workers: SpawnedServer[] = [];
let key: string;
let orgId: string;
let agentId: string;

beforeAll(async () => {
  api = await startPenstock({
    role: 'api',
    plans: { plans: { cli_team: { rate: { rpm: 60_000, burst: 60_000 } } } },
  });
  wire = await createCuttable(api.installation.databaseUrl);
  const env = { DATABASE_URL: wire.url };
  for (let n = 0; n < 2; n++) workers.push(await spawnPenstock(api.installation, { role: 'worker', env }));
  ({ key, orgId } = await api.createOrg({ plan: 'cli_team' }));
  agentId = await makeAgent(api, key, { tools: ['generate_text', 'create_document'] });
});
afterAll(async () => {
  for (const worker of workers) await worker.close();
  await wire?.close();
  await api?.close();
});

const write = { tool_call: { name: 'generate_text', arguments: { prompt: 'Hello', max_tokens: 20 } } };
const paper = {
  tool_call: {
    name: 'create_document',
    arguments: { title: 'A weir', content: 'Water.', format: 'markdown' },
  },
};
const slow = (step: object) => ({ ...step, delay_ms: 2000 });

interface Run {
  status: string;
  totalSteps: number;
  creditsUsed: number;
  errorMessage: string | null;
  steps: { stepNumber: number; stepType: string; toolOutput: { error?: string } | null }[];
}

async function start(...steps: object[]): Promise<string> {
  const { data } = await api.graphql<{ runAgent: { id: string } }>(
    'mutation ($id: ID!, $input: RunAgentInput!) { runAgent(id: $id, input: $input) { id } }',
    { key, variables: { id: agentId, input: { input: `@sandbox${JSON.stringify({ steps })}` } } },
  );
  return data!.runAgent.id;
}

async function read(id: string): Promise<Run> {
  const query = `{ agentRun(id: "${id}") { status totalSteps creditsUsed errorMessage steps { stepNumber stepType toolOutput } } }`;
  return (await api.graphql<{ agentRun: Run }>(query, { key })).data!.agentRun;
}

/** The run's operations by state, with the settled credits. */
async function ledger(runId: string) {
  const { nodes } = await api.services.usage.records({ orgId, first: 1000 });
  const rows = nodes.filter((row) => row.runId === runId);
  const settled = rows.filter(({ state }) => state === 'settled');
  return {
    open: rows.filter(({ state }) => state === 'reserved').length,
    credits: settled.reduce((sum, { amounts }) => sum + (amounts.credits ?? 0), 0) / 100,
  };
}

// A call waits for five seconds, a write of a step for twenty; a lease holds for thirty.
test.each([26_000, 40_000])(
  'a run whose database goes away in mid-step for %i ms goes on from its stored steps, nothing done twice in them',
  async (awayMs) => {
    const ids = await Promise.all([
      start(write, slow(write), write),
      start(write, slow(paper), write),
      start(slow(write), slow(write)),
    ]);
    await eventually(async () => (await read(ids[0]!)).totalSteps >= 3);
    wire.cut();
    await sleep(awayMs);
    wire.mend();
    for (const id of ids) {
      const run = await eventually(
        async () => {
          const found = await read(id);
          return found.status !== 'running' && found;
        },
        { timeoutMs: 60_000 },
      );
      expect(run).toMatchObject({ status: 'completed', errorMessage: null });
      expect(run.steps.filter(({ toolOutput }) => toolOutput?.error !== undefined)).toEqual([]);
      expect(run.steps.map(({ stepNumber }) => stepNumber)).toEqual(run.steps.map((_, n) => n + 1));
      const calls = id === ids[2] ? 2 : 3;
      expect(run.steps.filter(({ stepType }) => stepType === 'tool_call')).toHaveLength(calls);
      expect(run.steps.filter(({ stepType }) => stepType === 'tool_result')).toHaveLength(calls);
      await eventually(async () => (await ledger(id)).open === 0, { timeoutMs: 60_000 });
      expect((await ledger(id)).credits).toBe(run.creditsUsed);
    }
  },
  180_000,
);
