import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Principal } from '../../src/access/index.js';
import { ApiError } from '../../src/contract/errors.js';
import { createBudgetService } from '../../src/metering/index.js';
import type {
  AdmissionRequest,
  Attribution,
  Budget,
  BudgetService,
  Metering,
  NewBudget,
  OperationRequest,
} from '../../src/metering/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { charging, chat, createMeteringBench, priced, request } from '../support/metering.js';
import type { MeteringBench } from '../support/metering.js';

let db: TestDatabase;
let bench: MeteringBench;
let metering: Metering;
let budgets: BudgetService;

beforeAll(async () => {
  db = await createTestDatabase();
  bench = await createMeteringBench(db.database);
  metering = bench.metering();
  budgets = createBudgetService({ database: db.database });
});
afterAll(async () => {
  await bench.close();
  await db.close();
});

const CREDITS = {
  name: 'Credits',
  scope: 'organization',
  unit: 'credits',
  limit: 10,
  period: 'month',
} as const;

/** A caller of a new organisation that has these budgets, made one after the other. */
async function callerWith(...wanted: Partial<NewBudget>[]): Promise<{ principal: Principal; ids: string[] }> {
  const { orgId, keyId } = await bench.createOrg();
  const ids: string[] = [];
  for (const one of wanted) ids.push((await budgets.create(orgId, { ...CREDITS, ...one })).id);
  return { principal: await bench.principalOf(keyId), ids };
}

const budgetOf = async ({ orgId }: Principal, id: string | undefined): Promise<Budget> =>
  (await budgets.list(orgId)).find((budget) => budget.id === id)!;

const caught = (work: Promise<unknown>): Promise<ApiError | 'admitted'> =>
  work.then(
    () => 'admitted' as const,
    (error: unknown) => {
      if (error instanceof ApiError) return error;
      throw error;
    },
  );

async function reserve(
  principal: Principal,
  operation: OperationRequest,
  attribution?: Attribution,
): Promise<string> {
  await metering.admit(request(principal, { operation, attribution } as Partial<AdmissionRequest>));
  return operation.id;
}

/** An operation of so many credits that may cost so many nano-dollars. */
const costing = (credits: number, nano: bigint | null): OperationRequest =>
  priced(
    { credits: credits * 100 },
    { costBound: () => (nano === null ? null : { whole: nano, prompt: nano / 2n }) },
  );

const spending = (credits: number, costNano: bigint | null) => {
  const end = charging({ credits: credits * 100 });
  return { ...end, outcome: { ...end.outcome, costNano } };
};

const told = (orgId: string) =>
  bench
    .sql<{ data: Record<string, unknown> }>(
      `SELECT event -> 'data' AS data FROM outbox WHERE key = $1 AND event ->> 'type' = 'budget.threshold' ORDER BY id`,
      [orgId],
    )
    .then((rows) => rows.map(({ data }) => data));

describe('a budget', () => {
  it('is reserved with the call and settled to what it took; what was given back is free again', async () => {
    const { principal, ids } = await callerWith({});
    const [first, second] = [
      await reserve(principal, priced({ credits: 400 })),
      await reserve(principal, priced({ credits: 500 })),
    ];
    expect(await budgetOf(principal, ids[0])).toMatchObject({ spent: 0, reserved: 9, remaining: 1 });
    await metering.settle(first, charging({ credits: 300 }));
    await metering.release(second);
    expect(await budgetOf(principal, ids[0])).toMatchObject({ spent: 3, reserved: 0, remaining: 7 });
  });

  it('refuses what does not fit with 402 and what is left, and then nothing is reserved', async () => {
    const { principal, ids } = await callerWith({}, { name: 'Small', limit: 2.5 });
    const error = await caught(reserve(principal, priced({ credits: 300 })));
    expect(error).toMatchObject({
      code: 'budget_exceeded',
      status: 402,
      message: 'Budget exceeded: Small',
      details: { remaining: 2.5 },
    });
    for (const id of ids) expect(await budgetOf(principal, id)).toMatchObject({ reserved: 0 });
    expect((await metering.balances(principal.orgId)).credits.remaining).toBe(800);
    expect(await bench.ledgerSum(principal.orgId, 1, 'reserved')).toBe(0);
  });

  it('is looked at after the buckets, and of several the first by id is told', async () => {
    const { principal } = await callerWith({ name: 'First', limit: 1 }, { name: 'Second', limit: 0 });
    expect(await caught(reserve(principal, priced({ credits: 200 })))).toMatchObject({
      message: 'Budget exceeded: First',
    });
    expect(await caught(reserve(principal, priced({ credits: 100 })))).toMatchObject({
      message: 'Budget exceeded: Second',
      details: { remaining: 0 },
    });
    expect(await caught(reserve(principal, priced({ credits: 90_000 })))).toMatchObject({
      code: 'quota_exceeded',
    });
  });

  it('that is soft lets through and counts, also beyond its limit', async () => {
    const { principal, ids } = await callerWith({ hard: false, limit: 1 });
    const operation = await reserve(principal, priced({ credits: 300 }));
    expect(await budgetOf(principal, ids[0])).toMatchObject({ reserved: 3, remaining: 0 });
    await metering.settle(operation, charging({ credits: 300 }));
    expect(await budgetOf(principal, ids[0])).toMatchObject({ spent: 3, reserved: 0, remaining: 0 });
  });

  it('does not count calls from before it was made, and holds for the very next one', async () => {
    const principal = await bench.createOrg();
    const before = await reserve(principal, priced({ credits: 500 }));
    const { id } = await budgets.create(principal.orgId, { ...CREDITS, limit: 1 });
    // The caller's copy of the organisation is out of date: admission reads it again.
    expect(await caught(reserve(principal, priced({ credits: 200 })))).toMatchObject({
      code: 'budget_exceeded',
    });
    await metering.settle(before, charging({ credits: 500 }));
    expect(await budgetOf(principal, id)).toMatchObject({ spent: 0, reserved: 0 });
    await budgets.update(principal.orgId, id, { limit: 2 });
    const after = await reserve(principal, priced({ credits: 200 }));
    await budgets.delete(id, principal.orgId);
    await metering.settle(after, charging({ credits: 200 }));
    expect(await caught(reserve(principal, priced({ credits: 200 })))).toBe('admitted');
  });

  it('never shortens an answer: what the buckets granted is reserved, or the call refused', async () => {
    const { principal, ids } = await callerWith({ limit: 5 }, { unit: 'chat_tokens', limit: 2000 });
    expect(await caught(reserve(principal, chat(500, 5000)))).toMatchObject({
      message: 'Budget exceeded: Credits',
      details: { remaining: 5 },
    });
    await metering.setUsed(principal.orgId, 'credits', 79_800);
    // Two credits are left: the answer is cut at 2,000 tokens, which fit.
    const { reservation } = await metering.admit(request(principal, { operation: chat(500, 5000) }));
    expect(reservation?.coveredTokens).toBe(2000);
    expect(await budgetOf(principal, ids[0])).toMatchObject({ reserved: 2 });
    expect(await budgetOf(principal, ids[1])).toMatchObject({ reserved: 2000 });
    await metering.settle(reservation!.operationId, charging({ credits: 100, chat_tokens: 80_000 }));
    expect(await budgetOf(principal, ids[1])).toMatchObject({ reserved: 0, spent: 800 });
  });
});

describe('a budget in USD', () => {
  it('is reserved at the most that a call can cost and settled to what it did, also beyond the limit', async () => {
    const { principal, ids } = await callerWith({ unit: 'usd', limit: '0.000000010' });
    const operation = await reserve(principal, costing(1, 10n));
    expect(await budgetOf(principal, ids[0])).toMatchObject({ reserved: '0.00000001', remaining: '0' });
    expect(await caught(reserve(principal, costing(1, 1n)))).toMatchObject({
      code: 'budget_exceeded',
      details: { remaining: '0' },
    });
    await metering.settle(operation, spending(1, 25n));
    expect(await budgetOf(principal, ids[0])).toMatchObject({ spent: '0.000000025', reserved: '0' });
  });

  it('refuses a model without a price where it is hard, and lets it through where it is soft', async () => {
    const { principal: hard } = await callerWith({ unit: 'usd', limit: 1 });
    expect(await caught(reserve(hard, costing(1, null)))).toMatchObject({
      code: 'invalid_request',
      message: 'Model has no price: sandbox/image-standard',
      details: { param: 'model' },
    });
    expect(await bench.ledgerSum(hard.orgId, 1, 'reserved')).toBe(0);
    const { principal: soft, ids } = await callerWith({ unit: 'usd', limit: 1, hard: false });
    await metering.settle(await reserve(soft, costing(1, null)), spending(1, null));
    expect(await budgetOf(soft, ids[0])).toMatchObject({ spent: '0', reserved: '0' });
  });

  it('reserves of an answer that the buckets cut only what they granted', async () => {
    const { principal, ids } = await callerWith({ unit: 'usd', limit: '0.000002' });
    await metering.setUsed(principal.orgId, 'credits', 79_800);
    const operation = { ...chat(1000, 3000), costBound: () => ({ whole: 4000n, prompt: 1000n }) };
    await metering.admit(request(principal, { operation }));
    expect(await budgetOf(principal, ids[0])).toMatchObject({ reserved: '0.000002', remaining: '0' });
  });
});

describe('subjects', () => {
  const forUser = (endUser: string | null, ...tags: string[]): Attribution => ({ endUser, tags });

  it('are counted by themselves: a key, an end user, a tag, and each of `*`', async () => {
    const { keyId } = await bench.createOrg();
    const principal = await bench.principalOf(keyId);
    const make = (scope: string, subject: string) =>
      budgets.create(principal.orgId, { ...CREDITS, scope, subject, name: `${scope} ${subject}`, limit: 2 });
    const made: Budget[] = [];
    for (const [scope, subject] of [
      ['key', keyId],
      ['endUser', 'ann'],
      ['endUser', '*'],
      ['tag', 'a'],
      ['tag', '*'],
    ] as const)
      made.push(await make(scope, subject));
    await reserve(principal, priced({ credits: 100 }), forUser('ann', 'b', 'a'));
    await budgets.update(principal.orgId, made[0]!.id, { limit: 100 });
    await reserve(principal, priced({ credits: 100 }), forUser('bob', 'b'));
    await reserve(principal, priced({ credits: 100 }), forUser(null));
    const reserved = (await budgets.list(principal.orgId)).map((budget) => budget.reserved);
    expect(reserved).toEqual([3, 1, 2, 1, 3]);
    const subjects = async (at: number) =>
      (await budgets.subjects(principal.orgId, made[at]!.id, { first: 10 })).nodes;
    expect(await subjects(2)).toEqual([
      { subject: 'ann', spent: 0, reserved: 1, remaining: 1 },
      { subject: 'bob', spent: 0, reserved: 1, remaining: 1 },
    ]);
    expect((await subjects(4)).map(({ subject, reserved: held }) => [subject, held])).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
    // A subject's own budget and that of each both apply: the first by id is told.
    expect(await caught(reserve(principal, priced({ credits: 200 }), forUser('ann')))).toMatchObject({
      message: 'Budget exceeded: endUser ann',
    });
    expect(await caught(reserve(principal, priced({ credits: 200 }), forUser('bob')))).toMatchObject({
      message: 'Budget exceeded: endUser *',
      details: { remaining: 1 },
    });
    expect(await caught(reserve(principal, priced({ credits: 100 }), forUser(null, 'b')))).toMatchObject({
      message: 'Budget exceeded: tag *',
      details: { remaining: 0 },
    });
    expect(await caught(reserve(principal, priced({ credits: 200 }), forUser('new')))).toBe('admitted');
  });

  it('of `*` are listed in pages, and those of refused calls are not there', async () => {
    const { principal, ids } = await callerWith({ scope: 'endUser', subject: '*', limit: 1 });
    for (const user of ['c', 'a', 'b']) await reserve(principal, priced({ credits: 100 }), forUser(user));
    expect(await caught(reserve(principal, priced({ credits: 200 }), forUser('d')))).toMatchObject({
      code: 'budget_exceeded',
    });
    const first = await budgets.subjects(principal.orgId, ids[0]!, { first: 2 });
    expect(first.nodes.map(({ subject }) => subject)).toEqual(['a', 'b']);
    const rest = await budgets.subjects(principal.orgId, ids[0]!, { first: 2, after: first.nextCursor! });
    expect(rest).toMatchObject({ nodes: [{ subject: 'c' }], nextCursor: null });
  });
});

describe('under races', () => {
  it('600 calls of two processes never pass a hard budget, and what was spent is the ledger’s sum', async () => {
    const { principal, ids } = await callerWith(
      { limit: 100 },
      { scope: 'endUser', subject: '*', limit: 30, period: 'day' },
      { unit: 'usd', limit: '0.000000060', period: 'total' },
      { scope: 'tag', subject: 'x', period: 'week', limit: 90 },
    );
    const processes = [metering, bench.metering()];
    const outcomes = await Promise.all(
      Array.from({ length: 600 }, async (_, i) => {
        const operation = costing(1, 1n);
        const by = processes[i % 2]!;
        const attribution = { endUser: `user ${i % 5}`, tags: i % 3 === 0 ? [] : ['x'] };
        const outcome = await caught(by.admit(request(principal, { operation, attribution })));
        if (outcome !== 'admitted') return outcome.message;
        if (i % 4 === 0) await by.release(operation.id);
        else await by.settle(operation.id, spending(1, 1n));
        return 'admitted';
      }),
    );
    expect(new Set(outcomes.filter((outcome) => outcome !== 'admitted'))).toEqual(
      new Set(['Budget exceeded: Credits']),
    );
    const [ledger] = await bench.sql<{ credits: number; nano: number }>(
      `SELECT sum(charged[1])::int AS credits, sum(cost_nano)::int AS nano FROM usage_ledger WHERE org_id = $1 AND state = 'settled'`,
      [principal.orgId],
    );
    const [all, each, usd, tagged] = await budgets.list(principal.orgId);
    expect(all).toMatchObject({ id: ids[0], reserved: 0, spent: ledger!.credits / 100 });
    expect(each).toMatchObject({ reserved: 0, spent: ledger!.credits / 100 });
    expect(usd).toMatchObject({ reserved: '0', spent: `0.0000000${ledger!.nano}`.replace(/0+$/, '') });
    expect(tagged).toMatchObject({ reserved: 0 });
    expect(Number(usd?.spent)).toBeLessThanOrEqual(60e-9);
    expect(ledger!.nano).toBeLessThanOrEqual(60);
  });

  it('exactly as many calls are admitted as fit', async () => {
    const { principal, ids } = await callerWith({ limit: 37 }, { scope: 'key', subject: '*', limit: 100 });
    const processes = [metering, bench.metering()];
    const outcomes = await Promise.all(
      Array.from({ length: 600 }, (_, i) =>
        caught(processes[i % 2]!.admit(request(principal, { operation: priced({ credits: 100 }) }))),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'admitted')).toHaveLength(37);
    expect(await budgetOf(principal, ids[0])).toMatchObject({ reserved: 37, remaining: 0 });
    expect(await budgetOf(principal, ids[1])).toMatchObject({ reserved: 37 });
  });
});

describe('periods', () => {
  /** All that was counted becomes that of an earlier period. */
  const endPeriods = ({ orgId }: Principal) =>
    bench.sql(
      `UPDATE budget_counters SET period_start = period_start - interval '1 month' WHERE org_id = $1`,
      [orgId],
    );

  it('begin at nothing again, and a reservation belongs to the one that it was made in', async () => {
    const { principal, ids } = await callerWith({ limit: 5 }, { limit: 6, period: 'total' });
    const late = await reserve(principal, priced({ credits: 300 }));
    await bench.sql(
      `UPDATE budget_counters SET period_start = period_start - interval '1 month' WHERE budget_id = $1`,
      [ids[0]!],
    );
    expect(await budgetOf(principal, ids[0])).toMatchObject({ spent: 0, reserved: 0, remaining: 5 });
    await reserve(principal, priced({ credits: 300 }));
    await metering.settle(late, charging({ credits: 200 }));
    expect(await budgetOf(principal, ids[0])).toMatchObject({ spent: 0, reserved: 3 });
    expect(await budgetOf(principal, ids[1])).toMatchObject({ spent: 2, reserved: 3 });
    const [row] = await bench.sql<{ spent: number; reserved: number }>(
      'SELECT spent, reserved FROM budget_counters WHERE budget_id = $1 ORDER BY period_start LIMIT 1',
      [ids[0]!],
    );
    expect(row).toEqual({ spent: 200, reserved: 0 });
  });

  it.each([
    ['day', '2026-11-25T23:59:59.999Z', '2026-11-25', '2026-11-26'],
    ['week', '2026-11-23T00:00:00Z', '2026-11-23', '2026-11-30'],
    ['week', '2026-11-22T23:59:59Z', '2026-11-16', '2026-11-23'],
    ['month', '2027-02-28T12:00:00Z', '2027-02-01', '2027-03-01'],
    ['month', '2026-12-31T23:59:59Z', '2026-12-01', '2027-01-01'],
  ])('are calendar ones: a %s at %s begins %s and ends %s', async (period, at, start, end) => {
    const [row] = await bench.sql<{ start: Date; end: Date }>(
      'SELECT penstock_budget_start($1, $2) AS start, penstock_budget_end($1, $2) AS end',
      [period, at],
    );
    expect(row).toEqual({ start: new Date(`${start}T00:00:00Z`), end: new Date(`${end}T00:00:00Z`) });
  });

  it('that are over are forgotten once nothing is held in them; a total never is', async () => {
    const { principal, ids } = await callerWith({}, { period: 'total' });
    const held = await reserve(principal, priced({ credits: 100 }));
    await endPeriods(principal);
    const forget = () => bench.sql('SELECT penstock_budget_forget(1000)');
    const counters = () =>
      bench.sql('SELECT budget_id FROM budget_counters WHERE org_id = $1', [principal.orgId]);
    await bench.sql(`UPDATE budget_counters SET period_start = 'epoch' WHERE budget_id = $1`, [ids[1]!]);
    await forget();
    expect(await counters()).toHaveLength(2);
    await metering.release(held);
    await forget();
    expect(await counters()).toEqual([{ budget_id: ids[1] }]);
  });
});

describe('thresholds', () => {
  const spend = async (principal: Principal, credits: number) =>
    metering.settle(
      await reserve(principal, priced({ credits: credits * 100 })),
      charging({ credits: credits * 100 }),
    );

  it('are told once, all that a settlement crosses; a changed limit repeats none', async () => {
    const { principal, ids } = await callerWith({ limit: 10 });
    await spend(principal, 4);
    expect(await told(principal.orgId)).toEqual([]);
    await spend(principal, 1);
    const event = {
      ...{
        budgetId: ids[0],
        name: 'Credits',
        scope: 'organization',
        subject: null,
        unit: 'credits',
        limit: 10,
      },
      ...{ percent: 50, spent: 5 },
    };
    expect(await told(principal.orgId)).toEqual([event]);
    await spend(principal, 5);
    const both = [event, { ...event, percent: 80, spent: 10 }, { ...event, percent: 100, spent: 10 }];
    expect(await told(principal.orgId)).toEqual(both);
    await budgets.update(principal.orgId, ids[0]!, { limit: 20 });
    await spend(principal, 10);
    expect(await told(principal.orgId)).toEqual(both);
  });

  it('that a lower limit brings within reach are told by the next settlement', async () => {
    const { principal, ids } = await callerWith({ limit: 100, hard: false });
    await spend(principal, 10);
    await budgets.update(principal.orgId, ids[0]!, { limit: 12, thresholds: [0.9] });
    expect(await told(principal.orgId)).toEqual([]);
    await spend(principal, 1);
    expect(await told(principal.orgId)).toMatchObject([{ percent: 90, spent: 11, limit: 12 }]);
  });

  it('are each subject’s and each period’s own; USD are told as decimals', async () => {
    const { principal } = await callerWith({
      ...{ unit: 'usd', limit: '0.0000001', scope: 'endUser', subject: '*', thresholds: [1], hard: false },
    });
    const call = async (endUser: string) =>
      metering.settle(await reserve(principal, costing(1, 1n), { endUser, tags: [] }), spending(1, 150n));
    await call('ann');
    await call('bob');
    await call('ann');
    await bench.sql(
      `UPDATE budget_counters SET period_start = period_start - interval '1 month' WHERE org_id = $1`,
      [principal.orgId],
    );
    await call('ann');
    expect((await told(principal.orgId)).map(({ subject, spent, limit }) => [subject, spent, limit])).toEqual(
      [
        ['ann', '0.00000015', '0.0000001'],
        ['bob', '0.00000015', '0.0000001'],
        ['ann', '0.00000015', '0.0000001'],
      ],
    );
  });
});
