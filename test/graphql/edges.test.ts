import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;
beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => server?.close());

interface Run {
  agentId: string;
  agent: { id: string; modelId: string; model: { id: string } } | null;
}

async function ask<Data>(query: string): Promise<Data> {
  const { data, errors } = await server.graphql<Data>(query, { key });
  expect(errors).toEqual([]);
  return data!;
}

it('a page of runs reads its agents in one look-up, and a deletion answers the id of what is gone', async () => {
  const { createAgent: agent } = await ask<{ createAgent: { id: string } }>(
    'mutation { createAgent(input: { name: "a", systemPrompt: "b", model: "sandbox/chat-basic" }) { id } }',
  );
  for (let at = 0; at < 3; at++)
    await ask(`mutation { runAgent(id: "${agent.id}", input: { input: "x" }) { id } }`);
  const many = vi.spyOn(server.services.agents, 'getMany');
  const list = `{ agentRuns(agentId: "${agent.id}") { nodes { agentId agent { id modelId model { id } } } } }`;
  const { agentRuns } = await ask<{ agentRuns: { nodes: Run[] } }>(list);
  const model = { modelId: 'sandbox/chat-basic', model: { id: 'sandbox/chat-basic' } };
  expect(agentRuns.nodes).toEqual(
    Array.from({ length: 3 }, () => ({ agentId: agent.id, agent: { id: agent.id, ...model } })),
  );
  expect(many).toHaveBeenCalledTimes(1);

  expect(await ask(`mutation { deleteAgent(id: "${agent.id}") { id } }`)).toEqual({
    deleteAgent: { id: agent.id },
  });
});
