import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { makeToken } from '../support/client-tokens.js';
import { completion } from '../support/fake-upstream.js';
import { startRecorded } from '../support/records.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

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

/** What the cap of a token has counted, in hundredths. */
async function spentOf(tokenId: string, at = server): Promise<{ spent: number; reserved: number }> {
  const [row] = await at.installation.sql<{ spent: number; reserved: number }>(
    `SELECT c.spent::int, c.reserved::int FROM budget_counters c JOIN budgets b ON b.id = c.budget_id WHERE b.token_id = '${tokenId}'`,
  );
  if (row === undefined) throw new Error('nothing was counted');
  return row;
}

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

  it('counts all calls of the runs that it started, and of no other', async () => {
    const agent = await makeAgent(server, key);
    const task = { input: 'Of weirs' };
    const { last: free } = await runAgent(server, key, agent, task);
    expect(free.type).toBe('done');
    const price = free.credits_used ?? 0;
    expect(price).toBeGreaterThan(1);

    // The run may begin, but the whole of its model's answer is beyond the cap.
    const { token: small } = await makeToken(server, key, { scopes: ['agents'], credits: price - 1 });
    const { last: ended } = await runAgent(server, small, agent, task);
    expect(ended).toMatchObject({ type: 'error', error: 'Budget exceeded: client token' });

    // Another token of the key is counted by itself: what its run took, no more and no less.
    const { token: large, client_token } = await makeToken(server, key, {
      scopes: ['agents'],
      credits: 1000,
    });
    const { last: done } = await runAgent(server, large, agent, task);
    expect(done).toMatchObject({ type: 'done', credits_used: price });
    expect(await spentOf(client_token.id)).toEqual({ spent: price * 100, reserved: 0 });

    // Many at once are never more than the cap, and the key itself goes on.
    const cap = { scopes: ['agents'], credits: 3 * price };
    const { token: shared, client_token: made } = await makeToken(server, key, cap);
    await Promise.allSettled(Array.from({ length: 8 }, () => runAgent(server, shared, agent, task)));
    expect((await spentOf(made.id)).spent).toBeLessThanOrEqual(3 * price * 100);
    expect((await runAgent(server, key, agent, task)).last.type).toBe('done');
  });

  it('counts the searches of a response, for its end user, also where a worker makes them', async () => {
    const recorded = await startRecorded();
    const call = {
      id: 'c1',
      type: 'function',
      function: { name: 'web_search', arguments: '{"query":"tide"}' },
    };
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    const search = completion('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
    const body = { model: 'acme/chat', input: 'Hi', tools: [{ type: 'web_search' }] };
    const totals: number[] = [];
    try {
      for (const background of [false, true]) {
        const cap = { scopes: ['chat'], credits: 1000, end_user: 'user-17' };
        const { token, client_token } = await makeToken(recorded.server, recorded.key, cap);
        recorded.upstream.queue({ body: search }, { body: { results: [] } });
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const sent = { method: 'POST' as const, headers, body: JSON.stringify({ ...body, background }) };
        expect((await recorded.server.raw('/v1/responses', sent)).statusCode).toBe(200);
        const { spent } = await eventually(async () => {
          const counted = await spentOf(client_token.id, recorded.server);
          return counted.reserved === 0 && counted.spent > 0 && counted;
        });
        totals.push(spent);
      }
      expect(totals[0]).toBeGreaterThan(100);
      expect(totals[1]).toBe(totals[0]);
      const operations = await recorded.server.installation.sql<{ kind: string; end_user: string | null }>(
        `SELECT kind, end_user FROM usage_ledger WHERE kind IN ('chat', 'agent_tool')`,
      );
      expect(operations).toHaveLength(4);
      expect(new Set(operations.map((one) => one.end_user))).toEqual(new Set(['user-17']));
    } finally {
      await recorded.close();
    }
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
  ])('is refused as %j', async (body, param) => {
    expect(await refuse({ scopes: ['chat'], ...body })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', param },
    });
  });
});
