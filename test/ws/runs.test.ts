import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

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

test('agentRunUpdates tells the runs of all agents, or of one, and goes on from a cursor', async () => {
  const { key } = await server.createOrg();
  const agents = [await makeAgent(server, key), await makeAgent(server, key)];
  interface Told {
    cursor: string;
    sequence: number;
    type: string;
    run: { id: string; agentId: string };
  }
  const read = async (given: string, most: number): Promise<Told[]> => {
    const query = `subscription { agentRunUpdates${given} { cursor sequence type run { id agentId } } }`;
    const told: Told[] = [];
    const client = server.ws(key);
    for await (const { data } of client.iterate<{ agentRunUpdates: Told }>({ query }))
      if (data && told.push(data.agentRunUpdates) === most) break;
    await client.dispose();
    return told;
  };
  const before = Date.now();
  const first = read('', 3);
  await eventually(async () => {
    if (Date.now() - before < 100) return false;
    await runAgent(server, key, agents[0]!, { input: 'Hello' });
    return true;
  });
  const [start] = await first;
  const { runId } = await runAgent(server, key, agents[1]!, { input: 'Hello' });
  const rest = await read(`(after: "${start!.cursor}")`, 5);
  expect(rest.map(({ sequence }) => sequence)).toEqual([2, 3, 1, 2, 3]);
  const other = await read(`(after: "${start!.cursor}", agentId: "${agents[1]!}")`, 3);
  expect(other.map(({ type, run }) => [type, run.id])).toEqual([
    ['start', runId],
    ['step', runId],
    ['done', runId],
  ]);
});
