import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;
let key: string;

beforeAll(async () => {
  penstock = await startPenstock();
  ({ key } = await penstock.createOrg({ plan: 'pro_monthly' }));
});
afterAll(() => penstock?.close());

interface Shown {
  agent: { id: string; name: string; tools: string[] } & Record<string, unknown>;
  agents: { id: string; name: string; is_template: boolean }[];
  next_cursor: string | null;
}

const create = (body: Record<string, unknown>, as = key) =>
  penstock.rest<Shown>('POST', '/agents', { key: as, body });
const minimal = { name: 'Helper', system_prompt: 'You help.' };

async function refused(body: Record<string, unknown>, error: string, status = 400): Promise<void> {
  expect(await create(body)).toMatchObject({ status, body: { error } });
}

describe('an agent', () => {
  test('is created with the defaults of the contract, read, changed, copied and deleted', async () => {
    const created = await create(minimal);
    expect(created.status).toBe(200);
    const { agent } = created.body;
    expect(agent).toEqual({
      id: expect.stringMatching(/^agt_/),
      ...minimal,
      description: '',
      icon: 'bot',
      model: expect.stringMatching(/^sandbox\//),
      tools: [],
      temperature: 0.7,
      max_tokens: 4000,
      max_iterations: 10,
      memory_enabled: false,
      is_template: false,
      is_public: false,
      run_count: 0,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const path = `/agents/${agent.id}`;
    expect((await penstock.rest('GET', path, { key })).body).toEqual({ agent });
    const same = await penstock.rest<Shown>('PATCH', path, { key, body: {} });
    expect(same.body).toEqual({ agent });
    const changed = await penstock.rest<Shown>('PATCH', path, {
      key,
      body: { tools: ['web_search'], is_public: true, name: 'n'.repeat(100) },
    });
    expect(changed.body.agent).toMatchObject({ tools: ['web_search'], is_public: true });
    const copy = await penstock.rest<Shown>('POST', `${path}/duplicate`, { key });
    expect(copy.body.agent).toMatchObject({ name: 'n'.repeat(100), is_public: false, run_count: 0 });
    // Characters, not halves of surrogate pairs: neither the limit nor the cut of a copy's name counts them twice.
    await penstock.rest('PATCH', path, { key, body: { name: `${'🌊'.repeat(96)}n` } });
    const waves = await penstock.rest<Shown>('POST', `${path}/duplicate`, { key });
    expect(waves.body.agent.name).toBe(`${'🌊'.repeat(96)}n (c`);
    await penstock.rest('DELETE', `/agents/${waves.body.agent.id}`, { key });
    expect((await penstock.rest('DELETE', path, { key })).body).toEqual({ success: true });
    expect(await penstock.rest('GET', path, { key })).toMatchObject({
      status: 404,
      body: { error: 'Agent not found', code: 'not_found' },
    });
    await penstock.rest('DELETE', `/agents/${copy.body.agent.id}`, { key });
  });

  test('is refused with the messages of the contract', async () => {
    await refused({ system_prompt: 'x' }, 'name is required');
    await refused({ name: 'x' }, 'system_prompt is required');
    await refused({ ...minimal, tools: ['__proto__'] }, 'Invalid tools');
    await refused({ ...minimal, tools: ['web_search', 'hammer'] }, 'Invalid tools');
    await refused({ ...minimal, max_iterations: 11 }, 'max_iterations exceeds plan maximum');
    await refused({ ...minimal, name: 'n'.repeat(101) }, 'name must be at most 100 characters');
    await refused({ ...minimal, temperature: 2.1 }, 'temperature must be between 0 and 2');
    await refused({ ...minimal, run_count: 7 }, 'Unknown parameter: run_count');
    await refused({ ...minimal, model: 'acme/none' }, 'Unknown model: acme/none');
  });

  test('is not available on Free, before anything else is looked at', async () => {
    const free = await penstock.createOrg({ plan: 'free' });
    for (const [method, path] of [
      ['POST', '/agents'],
      ['GET', '/agents'],
      ['POST', '/agents/agt_00000000000000000000000000/run'],
    ] as const)
      expect(
        await penstock.rest(method, path, { key: free.key, ...(method === 'POST' ? { body: {} } : {}) }),
      ).toMatchObject({ status: 403, body: { error: 'AI Agents are not available', code: 'plan_required' } });
  });

  test('counts against the plan, whoever asks at the same time', async () => {
    const org = await penstock.createOrg({ plan: 'pro_monthly' });
    const answers = await Promise.all(Array.from({ length: 12 }, () => create(minimal, org.key)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expect(answer).toMatchObject({ status: 402, body: { error: 'Agent limit reached' } });
  });

  test('of another organisation is unknown, unless it is public', async () => {
    const { agent } = (await create(minimal)).body;
    const stranger = await penstock.createOrg();
    const read = () => penstock.rest('GET', `/agents/${agent.id}`, { key: stranger.key });
    expect(await read()).toMatchObject({ status: 404, body: { error: 'Agent not found' } });
    await penstock.rest('PATCH', `/agents/${agent.id}`, { key, body: { is_public: true } });
    expect((await read()).status).toBe(200);
    const change = { key: stranger.key, body: { name: 'Mine' } };
    expect((await penstock.rest('PATCH', `/agents/${agent.id}`, change)).status).toBe(404);
    await penstock.rest('DELETE', `/agents/${agent.id}`, { key });
  });
});

test('templates exist in every category, are listed where asked for, and are usable as they are', async () => {
  const mine = await penstock.rest<Shown>('GET', '/agents', { key });
  expect(mine.body.agents.filter(({ is_template }) => is_template)).toEqual([]);
  for (const category of ['research', 'content', 'coding', 'analysis', 'support', 'productivity']) {
    const path = `/agents?include_templates=true&template_category=${category}`;
    const { body } = await penstock.rest<Shown>('GET', path, { key });
    const templates = body.agents.filter(({ is_template }) => is_template);
    expect(templates.length).toBeGreaterThanOrEqual(2);
    const copy = await penstock.rest<Shown>('POST', `/agents/${templates[0]!.id}/duplicate`, { key });
    expect(copy.status).toBe(200);
    expect((await penstock.rest('DELETE', `/agents/${templates[0]!.id}`, { key })).status).toBe(404);
    await penstock.rest('DELETE', `/agents/${copy.body.agent.id}`, { key });
  }
  for (const query of ['limit=0', 'limit=101', 'limit=abc', 'template_category=x', 'cursor=x'])
    expect((await penstock.rest('GET', `/agents?${query}`, { key })).status).toBe(400);
});

test('GraphQL shows the same agents and refuses with the same codes', async () => {
  const made = await penstock.graphql<{ createAgent: { id: string; isTemplate: boolean } }>(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id isTemplate } }',
    { key, variables: { input: { name: 'G', systemPrompt: 'You help.' } } },
  );
  const { id } = made.data!.createAgent;
  const listed = await penstock.graphql<{ agents: { nodes: { id: string }[] } }>(
    '{ agents(first: 1) { nodes { id } nextCursor } }',
    { key },
  );
  expect(listed.data!.agents.nodes[0]!.id).toBe(id);
  const bad = await penstock.graphql('{ agent(id: "../x") { id } }', { key });
  expect(bad.errors[0]).toMatchObject({ message: 'Agent not found', extensions: { httpStatus: 404 } });
  await penstock.graphql('mutation ($id: ID!) { deleteAgent(id: $id) { success } }', {
    key,
    variables: { id },
  });
});
