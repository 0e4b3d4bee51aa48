import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, signIn } from '../support/people.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let cookie: string;

beforeAll(async () => {
  server = await startPenstock();
  org = await server.createOrg();
  ({ cookie } = await signIn(server, { orgId: org.orgId, email: 'owner@budgets.example', role: 'owner' }));
});
afterAll(() => server?.close());

interface Answer {
  data?: Record<string, Record<string, unknown>> | null;
  errors?: { message: string; extensions: Record<string, unknown> }[];
}

async function ask(
  query: string,
  variables: Record<string, unknown> = {},
  as: string = cookie,
): Promise<Answer> {
  const { body } = await post(server, 'graphql', { body: { query, variables }, cookie: as });
  return body as Answer;
}

const FIELDS =
  'id name scope subject unit limit period countsFrom resetsAt spent reserved remaining hard thresholds';
const CREATE = `mutation ($input: CreateBudgetInput!) { made: createBudget(input: $input) { ${FIELDS} } }`;
const UPDATE = `mutation ($id: ID!, $input: UpdateBudgetInput!) { changed: updateBudget(id: $id, input: $input) { ${FIELDS} } }`;
const DELETE = 'mutation ($id: ID!) { gone: deleteBudget(id: $id) { id } }';

const BUDGET = { name: 'All', scope: 'organization', unit: 'credits', limit: 100, period: 'month' };

async function create(input: object = {}): Promise<Record<string, unknown>> {
  const { data, errors } = await ask(CREATE, { input: { ...BUDGET, ...input } });
  expect(errors).toBeUndefined();
  return data!['made']!;
}

const remove = (id: unknown) => ask(DELETE, { id });

describe('a budget', () => {
  it('is made, read, changed and deleted; a bucket counts in numbers, USD in decimals', async () => {
    const made = await create();
    const now = new Date();
    expect(made).toEqual({
      ...BUDGET,
      id: expect.stringMatching(/^bud_/),
      subject: null,
      countsFrom: expect.any(String),
      resetsAt: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
      spent: 0,
      reserved: 0,
      remaining: 100,
      hard: true,
      thresholds: [0.5, 0.8, 1],
    });
    expect(Math.abs(Date.now() - Date.parse(String(made['countsFrom'])))).toBeLessThan(60_000);
    const money = await create({
      name: 'Money',
      scope: 'tag',
      subject: '*',
      unit: 'usd',
      limit: '12.50',
      period: 'total',
      hard: false,
      thresholds: [1, 0.25],
    });
    expect(money).toMatchObject({
      ...{ subject: '*', limit: '12.5', spent: '0', reserved: '0', remaining: null, resetsAt: null },
      ...{ hard: false, thresholds: [0.25, 1] },
    });
    const { data } = await ask(UPDATE, { id: made['id'], input: { limit: '7.25', name: 'Less' } });
    expect(data?.['changed']).toEqual({ ...made, name: 'Less', limit: 7.25, remaining: 7.25 });
    const { data: seen } = await server.graphql(`{ budgets { nodes { ${FIELDS} } } }`, { key: org.key });
    expect(seen?.['budgets']).toEqual({ nodes: [data?.['changed'], money] });
    for (const { id } of [made, money]) expect((await remove(id)).data).toEqual({ gone: { id } });
    expect((await remove(made['id'])).errors?.[0]).toMatchObject({
      message: 'Budget not found',
      extensions: { code: 'not_found' },
    });
  });

  it('is read at GET /api/v1/budgets in snake_case with the scope usage alone', async () => {
    const { id } = await create({ unit: 'usd', limit: 5 });
    const { status, body } = await server.rest('GET', '/budgets', { key: org.key });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        budgets: [
          {
            ...{ id, name: 'All', scope: 'organization', subject: null, unit: 'usd', limit: '5', spent: '0' },
            ...{ period: 'month', counts_from: expect.any(String), resets_at: expect.any(String) },
            ...{ reserved: '0', remaining: '5', hard: true, thresholds: [0.5, 0.8, 1] },
          },
        ],
      },
    });
    const { key } = await server.createKey(org.orgId, { scopes: ['chat'] });
    expect(await server.rest('GET', '/budgets', { key })).toMatchObject({ status: 403 });
    await remove(id);
  });

  it('stands at GET /api/v1/key for whom it concerns, each `*` with its own figures', async () => {
    const { key, id } = await server.createKey(org.orgId, { scopes: ['chat'] });
    const made = [
      await create({ name: 'Org', limit: 50 }),
      await create({ name: 'Each key', scope: 'key', subject: '*', limit: 3 }),
      await create({ name: 'Other', scope: 'endUser', subject: '*' }),
    ];
    for (const one of [org.key, key])
      expect(
        await server.rest('POST', '/chat/completions', {
          key: one,
          body: { messages: [{ role: 'user', content: 'Hello' }] },
        }),
      ).toMatchObject({ status: 200 });
    const { status, body } = await server.rest('GET', '/key', { key });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { id, name: 'test', scopes: ['chat'], spend: expect.stringMatching(/^\d/) },
    });
    expect(body['budgets']).toMatchObject([
      { id: made[0]!['id'], subject: null, spent: 2, remaining: 48 },
      { id: made[1]!['id'], subject: id, spent: 1, remaining: 2 },
    ]);
    const { data, errors } = await ask('{ apiKeys { nodes { id spend } } }');
    expect(errors).toBeUndefined();
    expect(data?.['apiKeys']).toEqual({ nodes: expect.arrayContaining([{ id, spend: '0' }]) as unknown });
    for (const one of made) await remove(one['id']);
  });

  it('is made by owners and admins only: not by members, nor by keys', async () => {
    const member = await signIn(server, {
      orgId: org.orgId,
      email: 'member@budgets.example',
      role: 'member',
    });
    expect((await ask(CREATE, { input: BUDGET }, member.cookie)).errors?.[0]?.extensions).toMatchObject({
      code: 'forbidden',
    });
    const { errors } = await server.graphql(CREATE, { key: org.key, variables: { input: BUDGET } });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'forbidden' });
  });

  it('of another organisation is not found', async () => {
    const other = await server.createOrg();
    const budget = await server.services.budgets.create(other.orgId, BUDGET);
    for (const [query, input] of [[UPDATE, { hard: false }], [DELETE]] as const)
      expect((await ask(query, { id: budget.id, input })).errors?.[0]?.message).toBe('Budget not found');
    const subjects = `{ budgetSubjects(id: "${budget.id}") { nodes { subject } } }`;
    expect((await ask(subjects)).errors?.[0]?.message).toBe('Budget not found');
    expect(await server.services.budgets.list(org.orgId)).toEqual([]);
  });

  it.each([
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ limit: -1 }, 'limit'],
    [{ limit: 'much' }, 'limit'],
    [{ limit: 0.001 }, 'limit'],
    [{ limit: '1e99' }, 'limit'],
    [{ unit: 'usd', limit: '0.0000000001' }, 'limit'],
    [{ unit: 'usd', limit: '1000000001' }, 'limit'],
    [{ subject: 'me' }, 'subject'],
    [{ scope: 'key' }, 'subject'],
    [{ scope: 'key', subject: 'key_none' }, 'subject'],
    [{ scope: 'endUser', subject: '' }, 'subject'],
    [{ scope: 'endUser', subject: 'x'.repeat(257) }, 'subject'],
    [{ scope: 'tag', subject: 'two words' }, 'subject'],
    [{ scope: 'tag', subject: 'x'.repeat(65) }, 'subject'],
    [{ thresholds: [0] }, 'thresholds'],
    [{ thresholds: [1.5] }, 'thresholds'],
    [{ thresholds: [0.00001] }, 'thresholds'],
    [{ thresholds: Array.from({ length: 11 }, (_, i) => (i + 1) / 20) }, 'thresholds'],
  ])('that cannot be is a 400 with its field: %j', async (input, param) => {
    const { errors } = await ask(CREATE, { input: { ...BUDGET, ...input } });
    expect(errors?.[0]?.extensions).toEqual({ code: 'invalid_request', httpStatus: 400, param });
  });

  it.each(['scope', 'unit', 'period'])(
    'with an unknown %s is a 400, also where no type says so',
    async (param) => {
      const { errors } = await ask(CREATE, { input: { ...BUDGET, [param]: 'other' } });
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'invalid_request', httpStatus: 400 });
      await expect(
        server.services.budgets.create(org.orgId, { ...BUDGET, [param]: 'other' }),
      ).rejects.toMatchObject({
        code: 'invalid_request',
        details: { param },
      });
    },
  );

  it('beyond the fiftieth is refused', async () => {
    const { orgId } = await server.createOrg();
    for (let i = 0; i < 50; i++) await server.services.budgets.create(orgId, BUDGET);
    await expect(server.services.budgets.create(orgId, BUDGET)).rejects.toThrow(
      'An organization has at most 50 budgets',
    );
  });
});
