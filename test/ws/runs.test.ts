import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server?.close());

test('an event of a run that has ended has the steps that the run had then', async () => {
  const { key } = await server.createOrg();
  const agent = await makeAgent(server, key);
  const { runId } = await runAgent(server, key, agent, { input: 'Hello' });
  const query = `subscription { agentRunSteps(runId: "${runId}", after: 0) { run { totalSteps steps { stepNumber } } } }`;
  interface Told {
    run: { totalSteps: number; steps: object[] };
  }
  const told: Told[] = [];
  for await (const { data } of server.ws(key).iterate<{ agentRunSteps: Told }>({ query }))
    if (data) told.push(data.agentRunSteps);
  expect(told).toHaveLength(3);
  expect(told[0]).toEqual({ run: { totalSteps: 0, steps: [] } });
  for (const { run } of told) expect(run.steps).toHaveLength(run.totalSteps);
});
