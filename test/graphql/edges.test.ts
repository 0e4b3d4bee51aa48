import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { runAgent } from '../support/agents.js';
import { signIn, type Browser } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
let key: string;
let owner: Browser;
beforeAll(async () => {
  server = await startPenstock();
  const org = await server.createOrg({ plan: 'business_monthly' });
  ({ key } = org);
  owner = await signIn(server, { orgId: org.orgId, email: 'owner@edges.example', role: 'owner' });
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

/** The answer's one field. */
async function asOwner(text: string): Promise<unknown> {
  const { data, error } = await owner.graphql(text);
  expect(error).toBeUndefined();
  return Object.values(data!)[0];
}

it('each deletion answers the object as it was, by which a cache knows it', async () => {
  const input = 'name: "Keeper", systemPrompt: "You keep the lock.", memoryEnabled: true';
  const { createAgent } = await ask<{ createAgent: { id: string } }>(
    `mutation { createAgent(input: { ${input} }) { id } }`,
  );
  const agent = createAgent.id;
  const upload = `uploadKnowledgeFile(agentId: "${agent}", input: { filename: "locks.txt", content: "QSBsb2Nr" }) { id }`;
  const { file } = await ask<{ file: { id: string } }>(`mutation { file: ${upload} }`);
  const gone = `deleteKnowledgeFile(agentId: "${agent}", id: "${file.id}")`;
  expect(await ask(`mutation { gone: ${gone} { id file { __typename id filename agent { id } } } }`)).toEqual(
    {
      gone: {
        id: file.id,
        file: { __typename: 'KnowledgeFile', id: file.id, filename: 'locks.txt', agent: { id: agent } },
      },
    },
  );

  await runAgent(server, key, agent, { input: 'My name is Ada and I live in Turin.' });
  const memory = await eventually(async () => {
    const found = await ask<{ agentMemories: { nodes: { id: string; content: string }[] } }>(
      `{ agentMemories(agentId: "${agent}") { nodes { id content } } }`,
    );
    return found.agentMemories.nodes[0];
  });
  expect(
    await ask(
      `mutation { gone: deleteAgentMemory(id: "${memory.id}") { memory { id content agent { id } } } }`,
    ),
  ).toEqual({ gone: { memory: { ...memory, agent: { id: agent } } } });

  expect(
    await ask(`mutation { gone: deleteAgent(id: "${agent}") { agent { __typename id name } } }`),
  ).toEqual({
    gone: { agent: { __typename: 'Agent', id: agent, name: 'Keeper' } },
  });

  const { response } = await ask<{ response: { id: string } }>(
    'mutation { response: createResponse(input: { input: "Hello", maxOutputTokens: 5 }) { id status } }',
  );
  expect(
    await ask(`mutation { gone: deleteResponse(id: "${response.id}") { id response { id status } } }`),
  ).toEqual({ gone: { id: response.id, response } });
});

it('what owners delete is answered as it was too, and a restart of deliveries answers their webhook', async () => {
  const made = await ask<{ webhook: { id: string; name: string } }>(
    'mutation { webhook: createWebhook(input: { name: "Hook", url: "https://penstock.invalid/h", events: ["credits.low"] }) { id name } }',
  );
  const { id } = made.webhook;
  expect(await ask(`mutation { sent: testWebhook(id: "${id}") { webhookId webhook { id name } } }`)).toEqual({
    sent: { webhookId: id, ...made },
  });
  expect(
    await ask(
      `mutation { again: recoverWebhook(id: "${id}", input: { since: "2026-01-01T00:00:00Z" }) { webhook { id name } } }`,
    ),
  ).toEqual({ again: made });
  const { gone } = await ask<{ gone: object }>(
    `mutation { gone: deleteWebhook(id: "${id}") { webhook { id name secret } } }`,
  );
  expect(gone).toEqual({ webhook: { ...made.webhook, secret: null } });

  const budget = (await asOwner(
    'mutation { createBudget(input: { name: "b", scope: organization, unit: usd, limit: "5", period: day }) { id name limit } }',
  )) as { id: string };
  expect(await asOwner(`mutation { deleteBudget(id: "${budget.id}") { budget { id name limit } } }`)).toEqual(
    {
      budget,
    },
  );

  const { member } = (await asOwner(
    'mutation { addPenstockMember(input: { email: "leaves@edges.example" }) { member { id userId email role } } }',
  )) as { member: { id: string; userId: string } };
  expect(
    await asOwner(
      `mutation { removePenstockMember(userId: "${member.userId}") { id member { id userId email role } } }`,
    ),
  ).toEqual({ id: member.userId, member });
});

it('a page of deliveries reads its webhook in one look-up', async () => {
  const { webhook } = await ask<{ webhook: { id: string } }>(
    'mutation { webhook: createWebhook(input: { name: "Hook", url: "https://penstock.invalid/h", events: ["credits.low"] }) { id } }',
  );
  for (let at = 0; at < 2; at++) await ask(`mutation { testWebhook(id: "${webhook.id}") { id } }`);
  const many = vi.spyOn(server.services.webhooks, 'getMany');
  const list = `{ webhookDeliveries(webhookId: "${webhook.id}") { nodes { webhook { id } } } }`;
  expect(await ask(list)).toEqual({ webhookDeliveries: { nodes: [{ webhook }, { webhook }] } });
  expect(many).toHaveBeenCalledTimes(1);
});
