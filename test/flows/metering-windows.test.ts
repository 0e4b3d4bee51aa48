import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Admission, Metering } from '../../src/metering/index.js';
import { rateOf } from '../../src/metering/index.js';
import type { Principal } from '../../src/access/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { chat, createMeteringBench, request } from '../support/metering.js';
import type { MeteringBench } from '../support/metering.js';

let db: TestDatabase;
let bench: MeteringBench;
let processes: Metering[];

beforeAll(async () => {
  db = await createTestDatabase();
  bench = await createMeteringBench(db.database, { narrow: true });
  processes = [bench.metering(), bench.metering(), bench.metering()];
});
afterAll(async () => {
  await bench.close();
  await db.close();
});

/** So many calls at once, spread over three processes; those admitted and the errors of the others. */
async function call(principal: Principal, count: number, options: Parameters<typeof request>[1] = {}) {
  const settled = await Promise.allSettled(
    Array.from({ length: count }, (_, i) => processes[i % 3]!.admit(request(principal, options))),
  );
  return {
    admitted: settled.flatMap((outcome): Admission[] =>
      outcome.status === 'fulfilled' ? [outcome.value] : [],
    ),
    refused: settled.flatMap((outcome): unknown[] => (outcome.status === 'rejected' ? [outcome.reason] : [])),
  };
}

/** Lets a time pass for the oldest slots of a key's window: 1 is the oldest that the log knows. */
const age = (principal: Principal, { from, to, seconds }: { from: number; to: number; seconds: number }) =>
  bench.sql(
    `UPDATE rate_windows SET stamps = (SELECT array_agg(CASE WHEN i BETWEEN $2 AND $3 THEN s - $4::bigint * 1000000 ELSE s END ORDER BY i)
       FROM unnest(stamps) WITH ORDINALITY v (s, i)) WHERE key_id = $1 AND name = 'key'`,
    [principal.keyId, from, to, seconds],
  );

describe('the key’s window', () => {
  it('answers at once where one of a billion becomes a small one', async () => {
    const principal = await bench.createOrg('free');
    const rate = { rpm: 1_000_000_000, burst: 1_000_000_000 };
    const raised = { ...principal, plan: { ...principal.plan, rate } };
    expect((await call(raised, 1)).admitted).toHaveLength(1);
    expect((await call(principal, 1)).admitted[0]?.rate).toMatchObject({ limit: 30, remaining: 28 });
    expect((await call(raised, 1)).admitted).toHaveLength(1);
  });

  it('holds its burst exactly, over three processes, and a refusal takes no slot', async () => {
    const principal = await bench.createOrg('free');
    const { admitted, refused } = await call(principal, 50);
    expect(admitted).toHaveLength(30);
    expect(admitted.map(({ rate }) => rate?.remaining).sort((a, b) => a! - b!)).toEqual(
      Array.from({ length: 30 }, (_, i) => i),
    );
    for (const error of refused) {
      expect(error).toMatchObject({ status: 429, code: 'rate_limited', message: 'Rate limit exceeded' });
      const { retryAfter } = (error as { details: { retryAfter: number } }).details;
      expect(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 60).toBe(true);
      expect(rateOf(error)).toMatchObject({ limit: 30, remaining: 0 });
    }
  });

  it('slides: only slots that left the window are free again', async () => {
    const principal = await bench.createOrg('free');
    await call(principal, 30);
    await age(principal, { from: 1, to: 12, seconds: 61 });
    expect((await call(principal, 40)).admitted).toHaveLength(12);
    await age(principal, { from: 1, to: 30, seconds: 61 });
    expect((await call(principal, 40)).admitted).toHaveLength(30);
  });

  it('says when it gains a slot, and after that time it has one', async () => {
    const principal = await bench.createOrg('free');
    await call(principal, 30);
    await age(principal, { from: 1, to: 1, seconds: 40 });
    const { refused } = await call(principal, 1);
    const { retryAfter } = (refused[0] as { details: { retryAfter: number } }).details;
    expect(retryAfter).toBeLessThanOrEqual(20);
    await age(principal, { from: 1, to: 30, seconds: retryAfter });
    expect((await call(principal, 2)).admitted).toHaveLength(1);
  });

  it('of a burst above the rate lasts burst / rpm minutes', async () => {
    const principal = await bench.createOrg('pro_monthly');
    const { admitted } = await call(principal, 130);
    expect(admitted).toHaveLength(120);
    await age(principal, { from: 1, to: 120, seconds: 119 - 60 });
    expect((await call(principal, 1)).refused).toHaveLength(1);
    await age(principal, { from: 1, to: 120, seconds: 61 });
    expect((await call(principal, 121)).admitted).toHaveLength(120);
  });

  it('keeps what was taken when the plan changes its size', async () => {
    const principal = await bench.createOrg('free');
    await call(principal, 20);
    await bench.organizations.changePlan(principal.orgId, 'pro_monthly');
    expect((await call(await bench.principalOf(principal.keyId), 150)).admitted).toHaveLength(100);
  });

  it.each([
    [100_000, 12, 30],
    [1_000, 7, 200],
    [100_000, 600, 30],
  ])(
    'of %i slots, of which %i were taken, leaves the others where it becomes one of %i',
    async (from, taken, to) => {
      const principal = await bench.createOrg('free');
      const sized = (burst: number) => ({
        ...principal,
        rate: { rpm: burst, burst },
      });
      expect((await call(sized(from), taken)).admitted).toHaveLength(taken);
      expect((await call(sized(to), to + 10)).admitted).toHaveLength(Math.max(0, to - taken));
    },
  );

  it.each([999, 1500])(
    'of %i slots gives out each of them, though it keeps no time for each',
    async (burst) => {
      const principal = await bench.createOrg('free');
      const sized = { ...principal, rate: { rpm: burst, burst } };
      expect((await call(sized, 1)).admitted[0]?.rate).toMatchObject({ limit: burst, remaining: burst - 1 });
      expect((await call(sized, burst)).admitted).toHaveLength(burst - 1);
    },
  );

  it('is never over in a size that no longer counts each slot by itself', async () => {
    const plan = bench.plans.plans.cli_team;
    plan.rate = { rpm: 1000, burst: 1000 };
    const principal = await bench.createOrg('cli_team');
    expect((await call(principal, 990)).admitted).toHaveLength(990);
    const { admitted, refused } = await call(principal, 60);
    expect([admitted.length, refused.length]).toEqual([10, 50]);
  });
});

describe('an endpoint’s window', () => {
  it('is taken together with the key’s, or neither is', async () => {
    const principal = await bench.createOrg();
    expect((await call(principal, 35, { endpoint: 'chat' })).admitted).toHaveLength(30);
    const { admitted } = await call(principal, 1);
    expect(admitted[0]?.rate).toMatchObject({ limit: 300, remaining: 269 });
  });

  it('is the one that is reported where its share left is smaller', async () => {
    const principal = await bench.createOrg('free');
    await call(principal, 20);
    const first = await call(principal, 1, { endpoint: 'image' });
    expect(first.admitted[0]?.rate).toMatchObject({ limit: 30, remaining: 9 });
    await call(principal, 7, { endpoint: 'image' });
    const last = await call(principal, 1, { endpoint: 'image' });
    expect(last.admitted[0]?.rate).toMatchObject({ limit: 30, remaining: 1 });
    const other = await call(await bench.createOrg(), 3, { endpoint: 'image' });
    expect(other.admitted.at(-1)?.rate).toMatchObject({ limit: 10 });
  });

  it('is counted alone for a field of an operation whose slot was taken before', async () => {
    const principal = await bench.createOrg();
    await call(principal, 4, { keyWindow: false, endpoint: 'video' });
    expect((await call(principal, 1)).admitted[0]?.rate).toMatchObject({ limit: 300, remaining: 299 });
    expect((await call(principal, 2, { keyWindow: false, endpoint: 'video' })).admitted).toHaveLength(1);
  });

  it('keeps its slot where the quota then refuses', async () => {
    const principal = await bench.createOrg();
    await processes[0]!.setUsed(principal.orgId, 'credits', 80_000);
    const { refused } = await call(principal, 1, { endpoint: 'chat', operation: chat(10, 10) });
    expect(refused[0]).toMatchObject({ status: 402 });
    expect(rateOf(refused[0])).toMatchObject({ limit: 30, remaining: 29 });
  });
});

describe('an operation inside another', () => {
  it('counts against no window and reports none', async () => {
    const principal = await bench.createOrg();
    const { admitted } = await call(principal, 1, { keyWindow: false, operation: chat(10, 10) });
    expect(admitted[0]?.rate).toBeNull();
    expect(admitted[0]?.reservation).not.toBeNull();
  });
});
