import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeToken } from '../support/client-tokens.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;
beforeAll(async () => {
  server = await startPenstock({
    plans: { plans: { business_monthly: { rate: { rpm: 100_000, burst: 100_000 } } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => server?.close());

const chat = (credential: string, model = 'sandbox/chat-basic') =>
  server.rest<Record<string, unknown>>('POST', '/chat/completions', {
    key: credential,
    body: { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 },
  });
const refuse = (body: object) => server.rest('POST', '/client-tokens', { key, body });

describe('the cap of a client token', () => {
  it('is never passed, however many calls come at once, and holds its calls alone', async () => {
    const { token } = await makeToken(server, key, { scopes: ['chat'], credits: 3 });
    const { token: other } = await makeToken(server, key, { scopes: ['chat'], credits: 3 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => chat(token)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 3 }, () => 200),
      ...Array.from({ length: 17 }, () => 402),
    ]);
    expect(answers.find(({ status }) => status === 402)?.body).toEqual({
      error: 'Budget exceeded: client token',
      code: 'budget_exceeded',
      remaining: expect.any(Number),
    });
    expect(await chat(token)).toMatchObject({ status: 402, body: { remaining: 0 } });
    expect((await chat(other)).status).toBe(200);
    expect((await chat(key)).status).toBe(200);
  });

  it('is in USD where that is asked for: models without a price are refused', async () => {
    const { token } = await makeToken(server, key, { scopes: ['chat'], budget_usd: '0.5' });
    // The sandbox costs nothing.
    expect((await chat(token)).status).toBe(200);
    const [row] = await server.installation.sql<{ unit: string; cap: string }>(
      `SELECT unit, cap FROM budgets WHERE token_id IS NOT NULL AND unit = 'usd'`,
    );
    expect(row).toEqual({ unit: 'usd', cap: '500000000' });
  });

  it('is no budget that people see or count', async () => {
    expect((await server.rest<{ budgets: object[] }>('GET', '/budgets', { key })).body).toEqual({
      budgets: [],
    });
    expect((await server.rest<{ budgets: object[] }>('GET', '/key', { key })).body.budgets).toEqual([]);
  });

  it.each<[object, string]>([
    [{ credits: 0 }, 'credits'],
    [{ credits: 1.5 }, 'credits'],
    [{ credits: '3' }, 'credits'],
    [{ credits: -1 }, 'credits'],
    [{ credits: 1e12 }, 'credits'],
    [{ budget_usd: 'much' }, 'budget_usd'],
    [{ budget_usd: '0' }, 'budget_usd'],
    [{ budget_usd: '-1' }, 'budget_usd'],
    [{ budget_usd: '0.0000000001' }, 'budget_usd'],
    [{ budget_usd: true }, 'budget_usd'],
    [{ credits: 1, budget_usd: '1' }, 'budget_usd'],
    [{ credits: 1, scopes: ['chat', 'agents'] }, 'credits'],
  ])('is refused as %j', async (body, param) => {
    expect(await refuse({ scopes: ['chat'], ...body })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', param },
    });
  });
});
