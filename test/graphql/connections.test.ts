import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { signIn } from '../support/people.js';
import type { Browser } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { at } from '../v1/v1.js';

let server: TestServer;
let key: string;
let owner: Browser;
const ids = { agent: '', webhook: '', budget: '', organization: '' };

beforeAll(async () => {
  server = await startPenstock();
  const org = await server.createOrg({ plan: 'business_monthly' });
  key = org.key;
  owner = await signIn(server, { orgId: org.orgId, email: 'owner@lists.example', role: 'owner' });
  await server.cli('operator', 'add', '--email', 'owner@lists.example');
  await server.createOrg();
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
  ids.organization = org.orgId;
  await fillAdministered(org.orgId);
});
afterAll(() => server?.close());

/** Three of what people administer: of two that were made in the same moment, a page may begin between. */
async function fillAdministered(orgId: string): Promise<void> {
  for (const name of ['one', 'two']) {
    await server.createKey(orgId);
    await owner.graphql(
      `mutation { addPenstockMember(input: { email: "${name}@lists.example" }) { member { userId } } }`,
    );
    const content = Buffer.from(`Lock ${name} has two gates.`).toString('base64');
    const { errors } = await server.graphql(
      'mutation ($a: ID!, $i: UploadKnowledgeInput) { uploadKnowledgeFile(agentId: $a, input: $i) { id } }',
      { key, variables: { a: ids.agent, i: { filename: `${name}.txt`, content } } },
    );
    expect(errors).toEqual([]);
    const budget = `{ name: "${name}", scope: tag, subject: "${name}", unit: usd, limit: "5", period: day }`;
    await owner.graphql(`mutation { createBudget(input: ${budget}) { id } }`);
    const body = { name, url: 'https://example.com/hook', events: ['credits.low'] };
    await server.rest('POST', '/webhooks', { key, body });
  }
  // Their order is finer than a JavaScript time.
  await server.services.database.system.query(
    `UPDATE members SET created_at = timestamptz '2026-01-01T00:00:00.123Z' + random() * interval '900 microseconds' WHERE org_id = $1`,
    [orgId],
  );
}

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
const PEOPLES = ['apiKeys', 'auditLog', 'operatedApiKeys', 'operatedOrganizations', 'penstockMembers'];

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
    knowledgeFiles: `agentId: "${ids.agent}"`,
    operatedApiKeys: `organizationId: "${ids.organization}"`,
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
  expect(filled.sort()).toEqual([
    'agentRuns',
    'agents',
    'apiKeys',
    'auditLog',
    'budgets',
    'jobs',
    'knowledgeFiles',
    'operatedApiKeys',
    'operatedOrganizations',
    'penstockMembers',
    'responses',
    'usageRecords',
    'webhooks',
  ]);
  expect(lists).toHaveLength(16);
});

async function counted(field: string, given: string, paging: string): Promise<Page & { totalCount: number }> {
  const fields = 'totalCount edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
  const text = `{ page: ${field}(${given} ${paging}) { ${fields} } }`;
  const { data, errors } = PEOPLES.includes(field)
    ? { data: (await owner.graphql(text)).data, errors: [] }
    : await server.graphql(text, { key });
  expect(errors, field).toEqual([]);
  return (data as { page: Page & { totalCount: number } }).page;
}

const cursorsOf = ({ edges }: Page): string[] => edges.map(({ cursor }) => cursor);

/** All pages of one item, from an end of the list. */
async function walk(field: string, given: string, isForwards: boolean): Promise<string[]> {
  const found: string[] = [];
  const [size, from] = isForwards ? ['first: 1', 'after'] : ['last: 1', 'before'];
  for (let cursor: string | null = null; ;) {
    const { edges, pageInfo } = await pageOf(
      field,
      given,
      cursor === null ? size : `${size}, ${from}: "${cursor}"`,
    );
    const [edge] = edges;
    if (edge === undefined) return found;
    if (isForwards) found.push(edge.cursor);
    else found.unshift(edge.cursor);
    cursor = edge.cursor;
    expect(pageInfo.startCursor).toBe(cursor);
    expect(pageInfo.endCursor).toBe(cursor);
    if (!(isForwards ? pageInfo.hasNextPage : pageInfo.hasPreviousPage)) return found;
  }
}

it('every list reads the same backwards as forwards, between two cursors too, and counts all its pages', async () => {
  for (const { field, given: needed } of await connections()) {
    const given = field === 'agents' ? 'includeTemplates: true' : needed;
    const all = cursorsOf(await pageOf(field, given, 'first: 100'));
    expect(await walk(field, given, true), field).toEqual(all);
    expect(await walk(field, given, false), field).toEqual(all);
    expect((await counted(field, given, 'first: 1')).totalCount, field).toBe(all.length);
    expect(cursorsOf(await pageOf(field, given, 'last: 100')), field).toEqual(all);
    if (all.length < 3) continue;
    const [first, last] = [all[0]!, all.at(-1)!];
    const inner = all.slice(1, -1);
    expect(
      cursorsOf(await pageOf(field, given, `last: 100, before: "${last}", after: "${first}"`)),
      field,
    ).toEqual(inner);
    expect(
      cursorsOf(await pageOf(field, given, `first: 100, before: "${last}", after: "${first}"`)),
      field,
    ).toEqual(inner);
  }
});

it('a list that something bounds is read whole where `first` is null, also by REST', async () => {
  const { orgId, key: theirs } = await server.createOrg({ plan: 'business_monthly' });
  const bounds = { scope: 'tag', unit: 'usd', limit: '5', period: 'day' };
  for (let n = 0; n < 22; n += 1)
    await server.services.budgets.create(orgId, { name: `b${n}`, subject: `t${n}`, ...bounds });
  const text = (first: string) => `{ budgets(${first}) { nodes { name } pageInfo { hasNextPage } } }`;
  interface Read {
    budgets: { nodes: object[]; pageInfo: { hasNextPage: boolean } };
  }
  const read = async (first: string) =>
    (await server.graphql<Read>(text(first), { key: theirs })).data!.budgets;
  const all = await read('first: null');
  expect(all.pageInfo.hasNextPage).toBe(false);
  expect(all.nodes).toHaveLength(22);
  expect((await read('after: null')).pageInfo.hasNextPage).toBe(true);
  expect((await read('first: null, last: 3')).nodes).toEqual(all.nodes.slice(-3));
  const { body } = await server.rest<{ budgets: object[] }>('GET', '/budgets', { key: theirs });
  expect(body.budgets).toHaveLength(22);
});

it('cursors keep their place while the list grows', async () => {
  const before = cursorsOf(await pageOf('agents', '', 'first: 100'));
  await makeAgent(server, key);
  const after = await counted('agents', '', 'first: 100');
  expect(cursorsOf(after).slice(1)).toEqual(before);
  expect(after.totalCount).toBe(before.length + 1);
  expect(cursorsOf(await pageOf('agents', '', `first: 100, after: "${before[0]}"`))).toEqual(before.slice(1));
  expect(cursorsOf(await pageOf('agents', '', `last: 100, before: "${before[0]}"`))).toEqual([
    cursorsOf(after)[0],
  ]);
});

it('a list whose number nobody asks for is not counted', async () => {
  const statements = vi.spyOn(server.services.database, 'tenantQuery');
  await pageOf('responses', '', 'first: 1');
  const unasked = statements.mock.calls.length;
  await counted('responses', '', 'first: 1');
  expect(statements.mock.calls.length - unasked).toBe(unasked + 1);
  statements.mockRestore();
});

it.each([
  ['last: 0', 'last'],
  ['last: 101', 'last'],
  ['first: 1, after: "x"', 'after'],
  ['last: 1, before: "x"', 'before'],
  ['first: 1, before: "x"', 'before'],
])('refuses a page of %s', async (paging, param) => {
  for (const field of ['agents', 'jobs', 'usageRecords']) {
    const { errors } = await server.graphql(`{ ${field}(${paging}) { edges { cursor } } }`, { key });
    expect(errors[0]?.extensions, field).toMatchObject({ code: 'invalid_request', httpStatus: 400, param });
  }
});
