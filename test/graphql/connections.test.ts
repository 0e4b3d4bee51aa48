import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { signIn } from '../support/people.js';
import type { Browser } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { at } from '../v1/v1.js';

let server: TestServer;
let key: string;
let owner: Browser;
const ids = { agent: '', webhook: '', budget: '' };

beforeAll(async () => {
  server = await startPenstock();
  const org = await server.createOrg({ plan: 'business_monthly' });
  key = org.key;
  owner = await signIn(server, { orgId: org.orgId, email: 'owner@lists.example', role: 'owner' });
  await makeAgent(server, key);
  ids.agent = await makeAgent(server, key);
  for (const prompt of ['a red square', 'a blue circle']) {
    await runAgent(server, key, ids.agent, { input: prompt });
    await server.rest('POST', '/images/generations', { key, body: { prompt, size: '512x512' } });
    await at(server, '/v1')('POST', '/responses', {
      headers: { authorization: `Bearer ${key}` },
      body: { input: prompt, max_output_tokens: 5 },
    });
  }
  const { data } = await owner.graphql(
    'mutation { createBudget(input: { name: "b", scope: tag, subject: "*", unit: usd, limit: "5", period: day }) { id } }',
  );
  ids.budget = (data!['createBudget'] as { id: string }).id;
  const body = { name: 'Hook', url: 'https://example.com/hook', events: ['credits.low'] };
  const made = await server.rest<{ webhook: { id: string } }>('POST', '/webhooks', { key, body });
  ids.webhook = made.body.webhook.id;
});
afterAll(() => server?.close());

interface Page {
  edges: { cursor: string }[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

/** Lists that no key may read. */
const PEOPLES = ['auditLog'];

async function pageOf(field: string, given: string, paging: string): Promise<Page> {
  const fields = 'edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
  const text = `{ page: ${field}(${given} ${paging}) { ${fields} } }`;
  if (PEOPLES.includes(field)) {
    const { data, error } = await owner.graphql(text);
    expect(error).toBeUndefined();
    return data!['page'] as Page;
  }
  const { data, errors } = await server.graphql<{ page: Page }>(text, { key });
  expect(errors).toEqual([]);
  return data!.page;
}

interface Named {
  name: string | null;
}

/** Every growing list that the schema has, with the arguments that it needs. */
async function connections(): Promise<{ field: string; given: string }[]> {
  const text = `{ __schema { queryType { fields { name type { name ofType { name } } } } } }`;
  const { data } = await server.graphql<{
    __schema: { queryType: { fields: { name: string; type: Named & { ofType: Named | null } }[] } };
  }>(text, { key });
  const needs: Record<string, string> = {
    agentRuns: `agentId: "${ids.agent}"`,
    budgetSubjects: `id: "${ids.budget}"`,
    agentMemories: `agentId: "${ids.agent}"`,
    webhookDeliveries: `webhookId: "${ids.webhook}"`,
  };
  return data!.__schema.queryType.fields
    .filter(({ type }) => (type.ofType ?? type).name?.endsWith('Connection'))
    .map(({ name }) => ({ field: name, given: needs[name] ?? '' }));
}

it('a page tells its first and last cursor, and whether pages come before and after it, in every list', async () => {
  const filled: string[] = [];
  const lists = await connections();
  for (const { field, given } of lists) {
    const first = await pageOf(field, given, 'first: 1');
    const [edge] = first.edges;
    const cursor = edge?.cursor ?? null;
    const hasNextPage = edge !== undefined;
    const told = { hasNextPage, hasPreviousPage: false, startCursor: cursor, endCursor: cursor };
    expect(first.pageInfo, field).toEqual(told);
    if (!edge) continue;
    filled.push(field);
    const rest = await pageOf(field, given, `first: 100, after: "${edge.cursor}"`);
    expect(rest.pageInfo, field).toEqual({
      hasNextPage: false,
      hasPreviousPage: true,
      startCursor: rest.edges[0]!.cursor,
      endCursor: rest.edges.at(-1)!.cursor,
    });
    const end = await pageOf(field, given, `after: "${rest.edges.at(-1)!.cursor}"`);
    const none = { startCursor: null, endCursor: null };
    expect(end, field).toEqual({
      edges: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: true, ...none },
    });
  }
  expect(filled.sort()).toEqual(['agentRuns', 'agents', 'auditLog', 'jobs', 'responses', 'usageRecords']);
  expect(lists).toHaveLength(9);
});
