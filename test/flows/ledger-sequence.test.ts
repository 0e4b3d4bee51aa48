import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Principal } from '../../src/access/index.js';
import type { Metering, OperationRequest } from '../../src/metering/index.js';
import { zeroCostOutcome } from '../../src/metering/index.js';
import { newId } from '../../src/contract/ids.js';
import { createUsage } from '../../src/usage/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { bucketTable, foldLedger } from '../support/ledger.js';
import { charging, chat, createMeteringBench, priced, request } from '../support/metering.js';
import type { MeteringBench } from '../support/metering.js';

let db: TestDatabase;
let bench: MeteringBench;
let processes: [Metering, Metering];

beforeAll(async () => {
  db = await createTestDatabase();
  bench = await createMeteringBench(db.database);
  processes = [bench.metering(), bench.metering()];
});
afterAll(async () => {
  await bench.close();
  await db.close();
});

async function reserve(
  principal: Principal,
  operation: OperationRequest,
  on = processes[0],
): Promise<string> {
  await on.admit(request(principal, { operation }));
  return operation.id;
}

/** The current period is over from now on. */
const endPeriod = (orgId: string) =>
  bench.sql('UPDATE balances SET period_end = clock_timestamp() WHERE org_id = $1 AND NOT superseded', [
    orgId,
  ]);

/** Numbers have no hole and no repeat, and the rows in their order give every balance of the bucket table. */
async function expectFoldable(orgId: string): Promise<number> {
  const [folded, table] = [await foldLedger(bench.sql, orgId), await bucketTable(bench.sql, orgId)];
  expect(folded.numbers).toEqual(Array.from({ length: table.last }, (_, i) => i + 1));
  expect(folded.balances).toEqual(table.balances);
  const [sum] = await bench.sql<{ n: number }>(
    `SELECT count(*) FILTER (WHERE sequence IS NULL)::int AS n FROM usage_ledger WHERE org_id = $1 AND state <> 'reserved'`,
    [orgId],
  );
  expect(sum).toEqual({ n: 0 });
  return table.last;
}

describe('every end takes the next number', () => {
  it('of calls, media, top-ups, adjustments and plans on two processes over three periods', async () => {
    const principal = await bench.createOrg();
    const { orgId } = principal;
    let done = 0;
    const call = async (nth: number): Promise<void> => {
      const on = processes[nth % 2]!;
      const media = nth % 5 === 0;
      const operation = media ? priced({ credits: 100, image_generations: 100 }) : chat(10, 990);
      await reserve(principal, operation, on);
      if (nth % 7 === 0) await on.release(operation.id);
      else if (media) await on.settle(operation.id, charging({ credits: 50, image_generations: 100 }));
      else await on.settle(operation.id, charging(on.tokenAmounts(nth % 11 === 0 ? 2_500 : 700, 100)));
      done += 1;
    };
    const late = await Promise.all([1, 2, 3].map(() => reserve(principal, chat(10, 990))));
    const callers = Array.from({ length: 24 }, async (_, caller) => {
      for (let nth = 0; nth < 15; nth++) await call(caller * 15 + nth);
    });
    const operator = async (): Promise<void> => {
      for (const share of [0.2, 0.4, 0.6, 0.8]) {
        await expect.poll(() => done, { timeout: 60_000 }).toBeGreaterThan(share * 360);
        await processes[0].topUp(orgId, 'credits', 5_000);
        await processes[1].setUsed(orgId, 'image_generations', 300);
        if (share === 0.4) await bench.organizations.changePlan(orgId, 'pro_monthly');
        else await endPeriod(orgId);
      }
    };
    await Promise.all([...callers, operator()]);
    await Promise.all([
      processes[0].settle(late[0]!, charging(processes[0].tokenAmounts(100, 100))),
      processes[1].settle(late[1]!, charging(processes[0].tokenAmounts(100, 100))),
      processes[1].release(late[2]!),
      reserve(principal, chat(10, 90)).then((id) => processes[1].release(id)),
    ]);
    expect(await expectFoldable(orgId)).toBeGreaterThan(360 + 3 + 4 + 3);
  }, 120_000);

  it('also where one batch ends operations of the old period and of the new', async () => {
    const principal = await bench.createOrg();
    const { orgId } = principal;
    await processes[0].topUp(orgId, 'credits', 10_000);
    const ended = await reserve(principal, chat(10, 990));
    await endPeriod(orgId);
    const current = await reserve(principal, chat(10, 990));
    const settled = await Promise.all(
      [ended, current].map((id) => processes[0].settle(id, charging({ credits: 100, chat_tokens: 90_000 }))),
    );
    expect(settled.map(({ applied, charged }) => [applied, charged.credits])).toEqual([
      [true, 100],
      [true, 100],
    ]);
    await expectFoldable(orgId);
    const used = await bench.sql('SELECT used[1]::int AS used FROM balances WHERE org_id = $1', [orgId]);
    expect(used).toEqual([{ used: 100 }, { used: 100 }]);
  });

  it('also of one operation that a batch ends twice', async () => {
    const principal = await bench.createOrg();
    const id = await reserve(principal, chat(10, 990));
    const answers = await Promise.all([
      processes[0].settle(id, charging({ credits: 100, chat_tokens: 90_000 })),
      processes[0].settle(id, charging({ credits: 100, chat_tokens: 90_000 })),
    ]);
    expect(answers.map(({ applied }) => applied)).toEqual([true, false]);
    await expectFoldable(principal.orgId);
  });

  it('and top-ups that an ended period gives back later are told again', async () => {
    const principal = await bench.createOrg('pro_monthly');
    const { orgId } = principal;
    await processes[0].topUp(orgId, 'credits', 10_000);
    const held = await reserve(principal, priced({ credits: 25_000 }));
    await endPeriod(orgId);
    expect((await processes[0].balances(orgId)).credits.limit).toBe(250);
    await processes[1].release(held);
    expect((await processes[0].balances(orgId)).credits.limit).toBe(300);
    await expectFoldable(orgId);
  });
});

describe('an end that changes afterwards', () => {
  it('is told by a number of its own where a charge is taken back', async () => {
    const principal = await bench.createOrg();
    const { orgId } = principal;
    const id = await reserve(principal, chat(10, 990));
    await processes[0].settle(id, charging({ credits: 100, chat_tokens: 90_000 }));
    const before = await foldLedger(bench.sql, orgId);
    await bench.sql('SELECT penstock_take_back(ARRAY[$1])', [id]);
    expect((await processes[0].balances(orgId)).credits.used).toBe(0);
    const after = await foldLedger(bench.sql, orgId);
    expect(after.rows.slice(0, before.rows.length)).toEqual(before.rows);
    await expectFoldable(orgId);
    expect(await bench.ledgerSum(orgId, 1, 'settled')).toBe(0);
    const { nodes } = await createUsage(db).records({ orgId, first: 10 });
    expect(nodes.map(({ state, amounts }) => ({ state, amounts }))).toEqual([
      { state: 'released', amounts: {} },
    ]);
    expect(await processes[1].settle(id, charging({ credits: 100 }))).toMatchObject({
      applied: false,
      charged: {},
    });
  });

  it('is told by a number of its own where a lost process was only slow, and the charge is final', async () => {
    const principal = await bench.createOrg();
    const { orgId } = principal;
    const processId = newId('proc');
    const slow = bench.metering({ processId });
    const id = await reserve(principal, chat(10, 990), slow);
    await bench.sql(
      `INSERT INTO processes (id, role, lease_until) VALUES ($1, 'api', now() - interval '1 second')`,
      [processId],
    );
    expect(await bench.sql('SELECT penstock_sweep(15000) AS n')).toEqual([{ n: 1 }]);
    const before = await foldLedger(bench.sql, orgId);
    const outcome = { ...zeroCostOutcome('succeeded'), upstreamId: 'up_1', costNano: 7n };
    const end = { amounts: { credits: 100, chat_tokens: 90_000 }, outcome };
    expect(await slow.settle(id, end)).toMatchObject({ applied: true });
    expect(await slow.settle(id, end)).toMatchObject({ applied: false, charged: { credits: 100 } });
    expect(await processes[0].settledBefore(id)).toMatchObject({ applied: false, charged: { credits: 100 } });
    const after = await foldLedger(bench.sql, orgId);
    expect(after.rows.slice(0, before.rows.length)).toEqual(before.rows);
    await expectFoldable(orgId);
    expect(await bench.ledgerSum(orgId, 1, 'settled')).toBe(100);
    const [told] = await bench.sql(
      `SELECT upstream_id, cost_nano::text AS cost, latency_ms FROM usage_ledger WHERE org_id = $1 AND kind = 'adjustment'`,
      [orgId],
    );
    expect(told).toEqual({ upstream_id: 'up_1', cost: '7', latency_ms: null });
  });
});
