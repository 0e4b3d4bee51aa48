import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Metering, OperationOutcome } from '../../src/metering/index.js';
import { createUsage } from '../../src/usage/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { charging, chat, createMeteringBench, priced, request } from '../support/metering.js';
import type { MeteringBench } from '../support/metering.js';

let db: TestDatabase;
let bench: MeteringBench;
let metering: Metering;

beforeAll(async () => {
  db = await createTestDatabase();
  bench = await createMeteringBench(db.database);
  metering = bench.metering();
});
afterAll(async () => {
  await bench.close();
  await db.close();
});

const OUTCOME: OperationOutcome = {
  status: 'failed',
  errorCode: 'upstream_error',
  provider: 'openai',
  answeredModel: 'openai/gpt "x", {y} \\',
  upstreamId: 'chatcmpl\0-1',
  firstTokenMs: 12.6,
  tokens: { input: 10, cachedInput: 4, cacheWrite: 1, output: 20, reasoning: 5 },
  costNano: 9_007_199_254_740_993n,
  costVersion: 'openai/gpt-4o@2026-01-01',
};
const TOLD = {
  status: 'failed',
  error_code: 'upstream_error',
  provider: 'openai',
  answered_model: 'openai/gpt "x", {y} \\',
  upstream_id: 'chatcmpl-1',
  first_token_ms: 13,
  tokens: '{10,4,1,20,5}',
  cost: '9007199254740993',
  cost_version: 'openai/gpt-4o@2026-01-01',
};

async function told(id: string): Promise<Record<string, unknown> | undefined> {
  const [row] = await bench.sql<Record<string, unknown>>(
    `SELECT status, error_code, provider, answered_model, upstream_id, first_token_ms, tokens::text AS tokens, cost_nano::text AS cost,
       cost_version FROM usage_ledger WHERE operation_id = $1`,
    [id],
  );
  return row;
}

async function attributed(id: string): Promise<unknown> {
  const [row] = await bench.sql(
    'SELECT end_user, to_json(tags) AS tags, parent FROM usage_ledger WHERE operation_id = $1',
    [id],
  );
  return row;
}

describe('the row of an operation', () => {
  it('says whom each of a batch of calls was for', async () => {
    const principal = await bench.createOrg();
    const whose = [
      { endUser: 'a', tags: ['x', 'null'] },
      { endUser: null, tags: ['a'] },
      { endUser: 'a\n["x"]\0"', tags: [] },
      undefined,
      { endUser: 'a', tags: ['x'] },
    ];
    const operations = whose.map((_, i) => ({ ...chat(10, 90), ...(i === 1 ? { parent: 'run_1' } : {}) }));
    await Promise.all(
      operations.map((operation, i) =>
        metering.admit(request(principal, { operation, attribution: whose[i] })),
      ),
    );
    expect(await Promise.all(operations.map(({ id }) => attributed(id)))).toEqual([
      { end_user: 'a', tags: ['x', 'null'], parent: null },
      { end_user: null, tags: ['a'], parent: 'run_1' },
      { end_user: 'a\n["x"]"', tags: [], parent: null },
      { end_user: null, tags: [], parent: null },
      { end_user: 'a', tags: ['x'], parent: null },
    ]);
  });

  it('says the same where its reservation was lost with the database, but no latency', async () => {
    const principal = await bench.createOrg();
    const operation = { ...chat(10, 990), parent: 'run_2' };
    const attribution = { endUser: 'b\0', tags: ['y', 'z'] };
    await metering.admit(request(principal, { operation, attribution }));
    await bench.sql('DELETE FROM usage_ledger WHERE operation_id = $1', [operation.id]);
    await bench.sql(`UPDATE balances SET reserved = '{0,0,0,0,0,0,0,0,0}' WHERE org_id = $1`, [
      principal.orgId,
    ]);
    await metering.settle(operation.id, { amounts: metering.tokenAmounts(500, 100), outcome: OUTCOME });
    expect(await attributed(operation.id)).toEqual({ end_user: 'b', tags: ['y', 'z'], parent: 'run_2' });
    expect(await told(operation.id)).toEqual(TOLD);
    const [row] = await bench.sql('SELECT latency_ms FROM usage_ledger WHERE operation_id = $1', [
      operation.id,
    ]);
    expect(row).toEqual({ latency_ms: null });
  });

  it.each([
    ['a chat call', () => chat(10, 990), { credits: 100, chat_tokens: 90_000 }],
    [
      'an image',
      () => priced({ credits: 100, image_generations: 100 }),
      { credits: 100, image_generations: 100 },
    ],
  ])('says what became of %s', async (_what, make, amounts) => {
    const principal = await bench.createOrg();
    const [charged, given, plain, dropped] = [make(), make(), make(), make()];
    await Promise.all(
      [charged, given, plain, dropped].map((operation) => metering.admit(request(principal, { operation }))),
    );
    await metering.settle(charged.id, { amounts, outcome: OUTCOME });
    await metering.release(given.id, { ...OUTCOME, costNano: null, tokens: null });
    await metering.settle(plain.id, charging(amounts));
    await metering.release(dropped.id);
    expect(await told(charged.id)).toEqual(TOLD);
    expect(await told(given.id)).toEqual({ ...TOLD, cost: null, tokens: null });
    expect(await told(plain.id)).toMatchObject({
      status: 'succeeded',
      error_code: null,
      cost: '0',
      tokens: null,
    });
    expect(await told(dropped.id)).toMatchObject({ status: 'cancelled', cost: '0' });
    const late = await bench.sql<{ ms: number }>(
      `SELECT latency_ms AS ms FROM usage_ledger WHERE org_id = $1 AND kind IN ('chat', 'image')`,
      [principal.orgId],
    );
    expect(late.every(({ ms }) => ms !== null && ms >= 0)).toBe(true);
  });

  it('takes what SQL functions that end work say', async () => {
    const principal = await bench.createOrg();
    const [settled, released] = [chat(10, 990), chat(10, 990)];
    for (const operation of [settled, released]) await metering.admit(request(principal, { operation }));
    const outcome = JSON.stringify({
      ...OUTCOME,
      upstreamId: 'chatcmpl-1',
      costNano: String(OUTCOME.costNano),
    });
    await bench.sql(`SELECT penstock_settle($1, '{100,90000,0,0,0,0,0,0,0}', $2::jsonb)`, [
      settled.id,
      outcome,
    ]);
    await bench.sql('SELECT penstock_release($1, $2::jsonb)', [released.id, outcome]);
    expect(await told(settled.id)).toEqual(TOLD);
    expect(await told(released.id)).toEqual(TOLD);
  });
});

it('rows that open periods are no records', async () => {
  const principal = await bench.createOrg();
  await metering.balances(principal.orgId);
  const kinds = await bench.sql('SELECT kind FROM usage_ledger WHERE org_id = $1', [principal.orgId]);
  expect(kinds).toEqual([{ kind: 'period' }]);
  expect((await createUsage(db).records({ orgId: principal.orgId, first: 10 })).nodes).toEqual([]);
  await metering.topUp(principal.orgId, 'credits', 100);
  const latencies = await bench.sql('SELECT latency_ms AS ms FROM usage_ledger WHERE org_id = $1', [
    principal.orgId,
  ]);
  expect(latencies).toEqual([{ ms: null }, { ms: null }]);
});
