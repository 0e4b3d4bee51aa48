import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Principal } from '../../src/access/index.js';
import type { Metering } from '../../src/metering/index.js';
import { createUsage } from '../../src/usage/index.js';
import type { Usage } from '../../src/usage/index.js';
import { BUCKETS } from '../../src/contract/words.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { charging, chat, createMeteringBench, priced, request } from '../support/metering.js';
import type { MeteringBench } from '../support/metering.js';

let db: TestDatabase;
let bench: MeteringBench;
let metering: Metering;
let usage: Usage;

beforeAll(async () => {
  db = await createTestDatabase();
  bench = await createMeteringBench(db.database);
  metering = bench.metering();
  usage = createUsage(db);
});
afterAll(async () => {
  await bench.close();
  await db.close();
});

async function reserve(principal: Principal, credits: number): Promise<string> {
  const { reservation } = await metering.admit(request(principal, { operation: priced({ credits }) }));
  if (reservation === null) throw new Error('nothing was reserved');
  return reservation.operationId;
}

/** The current period is over from now on. */
const endPeriod = (orgId: string) =>
  bench
    .sql(
      `UPDATE balances SET period_start = period_start - interval '1 month', period_end = clock_timestamp() WHERE org_id = $1 AND NOT superseded`,
      [orgId],
    )
    .then(() =>
      bench.sql(
        `UPDATE usage_ledger l SET period_start = b.period_start FROM balances b
     WHERE l.org_id = $1 AND b.org_id = $1 AND NOT b.superseded AND l.period_start > b.period_start`,
        [orgId],
      ),
    );

const credits = async (orgId: string) => (await metering.balances(orgId)).credits;

describe('a period', () => {
  it('begins with the plan’s allowance again, with a request or with a look at the quota', async () => {
    const principal = await bench.createOrg();
    await metering.settle(await reserve(principal, 80_000), charging({ credits: 80_000 }));
    await endPeriod(principal.orgId);
    await reserve(principal, 80_000);
    await endPeriod(principal.orgId);
    expect(await credits(principal.orgId)).toMatchObject({ limit: 800, used: 0, remaining: 800 });
  });

  it('takes unspent top-ups from the one before: the allowance is spent first', async () => {
    const principal = await bench.createOrg();
    await metering.topUp(principal.orgId, 'credits', 10_000);
    await metering.settle(await reserve(principal, 84_000), charging({ credits: 84_000 }));
    expect(await credits(principal.orgId)).toMatchObject({ limit: 900, used: 840, remaining: 60 });
    await endPeriod(principal.orgId);
    expect(await credits(principal.orgId)).toMatchObject({ limit: 860, used: 0, remaining: 860 });
    await endPeriod(principal.orgId);
    expect(await credits(principal.orgId)).toMatchObject({ limit: 860 });
  });

  it('is the one that a reservation made in it is settled in, and top-ups that this frees go over', async () => {
    const principal = await bench.createOrg();
    await metering.topUp(principal.orgId, 'credits', 10_000);
    const late = await reserve(principal, 88_000);
    const released = await reserve(principal, 1_000);
    await endPeriod(principal.orgId);
    expect(await credits(principal.orgId)).toMatchObject({ limit: 810, remaining: 810 });
    await metering.release(released);
    expect(await credits(principal.orgId)).toMatchObject({ limit: 820 });
    await endPeriod(principal.orgId);
    expect(await credits(principal.orgId)).toMatchObject({ limit: 820 });
    const { charged, balances } = await metering.settle(late, charging({ credits: 85_000 }));
    expect(charged.credits).toBe(85_000);
    expect(balances.credits).toMatchObject({ limit: 850, used: 0, remaining: 850 });
  });

  it('is told to a call of the one before as it begins, before anybody has called in it', async () => {
    const principal = await bench.createOrg();
    await metering.topUp(principal.orgId, 'credits', 10_000);
    await metering.settle(await reserve(principal, 84_000), charging({ credits: 84_000 }));
    const [token, fixed] = [await reserve(principal, 1_000), await reserve(principal, 1_000)];
    await endPeriod(principal.orgId);
    const { balances } = await metering.settle(token, charging({ credits: 1_000 }));
    expect(balances.credits).toMatchObject({ limit: 840, used: 0, remaining: 840 });
    await metering.release(fixed);
    expect(await credits(principal.orgId)).toMatchObject({ limit: 850, used: 0, remaining: 850 });
  });

  it('that is over charges nothing beyond its reservation to top-ups that the next one may have spent', async () => {
    const principal = await bench.createOrg();
    await metering.topUp(principal.orgId, 'credits', 10_000);
    const late = await reserve(principal, 80_000);
    await endPeriod(principal.orgId);
    await metering.settle(await reserve(principal, 90_000), charging({ credits: 90_000 }));
    const { charged } = await metering.settle(late, charging({ credits: 85_000 }));
    expect(charged.credits).toBe(80_000);
    expect(await credits(principal.orgId)).toMatchObject({ limit: 900, used: 900, remaining: 0 });
  });

  it('fires its own billing events', async () => {
    const principal = await bench.createOrg();
    await metering.setUsed(principal.orgId, 'credits', 80_000);
    await endPeriod(principal.orgId);
    await metering.setUsed(principal.orgId, 'credits', 75_000);
    const rows = await bench.sql<{ type: string }>(
      `SELECT event ->> 'type' AS type FROM outbox WHERE key = $1 AND event ->> 'type' LIKE 'credits.%' ORDER BY id`,
      [principal.orgId],
    );
    expect(rows.map(({ type }) => type)).toEqual(['credits.low', 'credits.depleted', 'credits.low']);
  });

  it('is made once by concurrent callers on two processes', async () => {
    const principal = await bench.createOrg();
    await endPeriod(principal.orgId);
    const other = bench.metering();
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        i % 3 === 0
          ? metering.quota(principal.orgId)
          : (i % 2 === 0 ? metering : other).admit(
              request(principal, { operation: priced({ credits: 100 }) }),
            ),
      ),
    );
    expect(
      await bench.sql('SELECT 1 FROM balances WHERE org_id = $1 AND NOT superseded', [principal.orgId]),
    ).toHaveLength(1);
    expect((await credits(principal.orgId)).remaining).toBe(800 - 26);
  });
});

describe('a change of plan', () => {
  it('between paid plans keeps the period and what was used', async () => {
    const principal = await bench.createOrg('pro_monthly');
    await metering.settle(await reserve(principal, 15_000), charging({ credits: 15_000 }));
    const before = await metering.quota(principal.orgId);
    await bench.organizations.changePlan(principal.orgId, 'business_monthly');
    const after = await metering.quota(principal.orgId);
    expect(after.plan).toMatchObject({
      code: 'business_monthly',
      name: 'Business Monthly',
      kind: 'recurring',
      entitled: true,
    });
    expect(after.plan.periodEnd).toBe(before.plan.periodEnd);
    expect(await credits(principal.orgId)).toMatchObject({ limit: 800, used: 150, remaining: 650 });
  });

  it('from Free begins a new period; an open reservation is settled in the old one', async () => {
    const principal = await bench.createOrg('free');
    const open = await reserve(principal, 9_000);
    await bench.organizations.changePlan(principal.orgId, 'pro_monthly');
    expect(await credits(principal.orgId)).toMatchObject({ limit: 200, used: 0, remaining: 200 });
    await metering.settle(open, charging({ credits: 9_000 }));
    expect(await credits(principal.orgId)).toMatchObject({ limit: 200, used: 0, remaining: 200 });
  });

  it('waits for who begins the next period, who does not wait for it', async () => {
    const { orgId } = await bench.createOrg('pro_monthly');
    await credits(orgId);
    await endPeriod(orgId);
    const [caller, watcher] = [0, 1].map(() => new pg.Client({ connectionString: db.url })) as [
      pg.Client,
      pg.Client,
    ];
    await Promise.all([caller.connect(), watcher.connect()]);
    const waiting = async () => {
      const here = `datname = current_database() AND wait_event_type = 'Lock'`;
      return (await watcher.query(`SELECT 1 FROM pg_stat_activity WHERE ${here}`)).rowCount;
    };
    try {
      await caller.query('BEGIN');
      await caller.query('SELECT 1 FROM balances WHERE org_id = $1 FOR UPDATE', [orgId]);
      const change = bench.organizations.changePlan(orgId, 'business_monthly');
      change.catch(() => undefined);
      await expect.poll(waiting).toBe(1);
      await caller.query(
        `SELECT penstock_balance_next(b, b.org_id, b.org_version, b.allowance) FROM balances b WHERE b.org_id = $1`,
        [orgId],
      );
      await caller.query('COMMIT');
      await change;
    } finally {
      await Promise.all([caller.end(), watcher.end()]);
    }
    expect(await credits(orgId)).toMatchObject({ limit: 800, used: 0 });
  });

  it('to a smaller one never shows less than nothing', async () => {
    const principal = await bench.createOrg('business_monthly');
    await metering.settle(await reserve(principal, 50_000), charging({ credits: 50_000 }));
    await bench.organizations.changePlan(principal.orgId, 'pro_monthly');
    expect(await credits(principal.orgId)).toMatchObject({
      limit: 200,
      used: 500,
      remaining: 0,
      usagePercent: 250,
    });
  });

  it('to a smaller one and back takes no top-ups for what the larger allowances covered', async () => {
    const principal = await bench.createOrg('pro_monthly');
    const { orgId } = principal;
    await metering.topUp(orgId, 'credits', 5_000);
    await metering.setUsed(orgId, 'credits', 15_000);
    await bench.organizations.changePlan(orgId, 'free');
    expect(await credits(orgId)).toMatchObject({ limit: 150, used: 150, remaining: 0 });
    await bench.organizations.changePlan(orgId, 'pro_monthly');
    expect(await credits(orgId)).toMatchObject({ limit: 250, used: 0, remaining: 250 });
  });

  it('to a smaller one leaves top-ups to be spent beyond it, each unit once', async () => {
    const principal = await bench.createOrg('business_monthly');
    const { orgId } = principal;
    await metering.topUp(orgId, 'agent_runs', 5_000);
    const runs = async () => (await metering.balances(orgId)).agent_runs;
    await metering.setUsed(orgId, 'agent_runs', 12_000);
    await bench.organizations.changePlan(orgId, 'pro_monthly');
    expect(await runs()).toMatchObject({ limit: 150, used: 120, remaining: 30 });
    await metering.setUsed(orgId, 'agent_runs', 14_000);
    await endPeriod(orgId);
    expect(await runs()).toMatchObject({ limit: 130, used: 0 });
  });

  it('to a smaller one does not cover what was reserved under the larger one and given back: top-ups are spent once', async () => {
    const principal = await bench.createOrg('business_monthly');
    const { orgId } = principal;
    await metering.topUp(orgId, 'credits', 5_000);
    const given = await reserve(principal, 50_500);
    await bench.organizations.changePlan(orgId, 'pro_monthly');
    await metering.settle(given, charging({ credits: 500 }));
    const late = await reserve(await bench.principalOf(principal.keyId), 24_500);
    await metering.settle(late, charging({ credits: 24_500 }));
    expect(await credits(orgId)).toMatchObject({ limit: 250, used: 250, remaining: 0 });
    await endPeriod(orgId);
    expect(await credits(orgId)).toMatchObject({ limit: 200, used: 0 });
  });

  it('by cancelling gives Free limits once the paid period is over', async () => {
    const principal = await bench.createOrg('business_monthly');
    await bench.organizations.cancel(principal.orgId);
    expect((await metering.quota(principal.orgId)).plan).toMatchObject({
      code: 'business_monthly',
      entitled: true,
    });
    await bench.sql(
      `UPDATE organizations SET subscription_ends_at = clock_timestamp(), version = version + 1 WHERE id = $1`,
      [principal.orgId],
    );
    await endPeriod(principal.orgId);
    expect((await metering.quota(principal.orgId)).plan).toMatchObject({
      code: 'business_monthly',
      entitled: false,
    });
    expect(await credits(principal.orgId)).toMatchObject({ limit: 100 });
    await expect(reserve(principal, 10_001)).rejects.toThrow('Quota exceeded for credits');
  });
});

describe('an operator', () => {
  it('sees all nine buckets, always', async () => {
    const { orgId } = await bench.createOrg('free');
    const { quotas } = await metering.quota(orgId);
    expect(quotas.map(({ bucket }) => bucket)).toEqual([...BUCKETS]);
    expect(quotas[1]).toEqual({
      bucket: 'chat_tokens',
      limit: 100_000,
      remaining: 100_000,
      used: 0,
      reserved: 0,
      usagePercent: 0,
    });
  });

  it('cannot change the token view, nor top up what is unlimited', async () => {
    const { orgId } = await bench.createOrg('cli_pro');
    for (const change of [
      () => metering.topUp(orgId, 'chat_tokens', 100),
      () => metering.setUsed(orgId, 'chat_tokens', 100),
      () => metering.topUp(orgId, 'agent_runs', 100),
      () => metering.topUp(orgId, 'credits', 0),
      () => metering.topUp(orgId, 'credits', 0.5),
      () => metering.setUsed(orgId, 'credits', -1),
    ]) {
      await expect(change()).rejects.toMatchObject({ status: 400 });
    }
    await expect(metering.quota('org_unknown')).rejects.toMatchObject({ status: 404 });
  });

  it('adjusts used by a ledger row, so that the sum still holds', async () => {
    const principal = await bench.createOrg();
    await metering.settle(await reserve(principal, 5_000), charging({ credits: 5_000 }));
    expect(await metering.setUsed(principal.orgId, 'credits', 1_200)).toMatchObject({
      used: 12,
      remaining: 788,
    });
    expect(await bench.ledgerSum(principal.orgId, 1, 'settled')).toBe(1_200);
    const { nodes } = await usage.records({ orgId: principal.orgId, first: 1 });
    expect(nodes[0]).toMatchObject({
      operation: 'adjustment',
      state: 'settled',
      amounts: { credits: -3_800 },
    });
  });

  it('is explained by the ledger: charges are what is used, grants what the limit has beyond the allowance', async () => {
    const principal = await bench.createOrg();
    const { orgId } = principal;
    const { limit: allowance } = await credits(orgId);
    await metering.settle(await reserve(principal, 5_000), charging({ credits: 5_000 }));
    await metering.topUp(orgId, 'credits', 12_500);
    await metering.setUsed(orgId, 'credits', 7_000);
    await metering.topUp(orgId, 'credits', 500);
    const { nodes } = await usage.records({ orgId, first: 100 });
    const sum = (of: 'amounts' | 'granted') =>
      nodes.reduce((total, record) => total + (record[of].credits ?? 0), 0) / 100;
    const state = await credits(orgId);
    expect(sum('amounts')).toBe(state.used);
    expect(allowance + sum('granted')).toBe(state.limit);
    expect(nodes.filter(({ operation }) => operation === 'top_up')).toHaveLength(2);
  });
});

describe('usage records', () => {
  it('list every operation once, newest first, page by page', async () => {
    const principal = await bench.createOrg();
    const operations = Array.from({ length: 25 }, () => chat(10, 100));
    await Promise.all(operations.map((operation) => metering.admit(request(principal, { operation }))));
    await metering.settle(operations[0]!.id, charging(metering.tokenAmounts(50, 100)));
    await metering.release(operations[1]!.id);
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await usage.records({
        orgId: principal.orgId,
        first: 10,
        ...(after === undefined ? {} : { after }),
      });
      seen.push(...page.nodes.map(({ id }) => id));
      after = page.nextCursor ?? undefined;
    } while (after !== undefined);
    expect(seen.toSorted()).toEqual(operations.map(({ id }) => id).toSorted());
    const { nodes } = await usage.records({ orgId: principal.orgId, first: 100 });
    const byId = new Map(nodes.map((node) => [node.id, node]));
    expect(byId.get(operations[0]!.id)).toMatchObject({
      state: 'settled',
      amounts: { credits: 100, chat_tokens: 5000 },
    });
    expect(byId.get(operations[1]!.id)).toMatchObject({ state: 'released', amounts: {} });
    expect(byId.get(operations[2]!.id)).toMatchObject({
      state: 'reserved',
      amounts: { credits: 100, chat_tokens: 11_000 },
      model: 'sandbox/chat-basic',
      client: { serviceClient: 'tests', clientName: 'a "name", with {marks} and \\', userAgent: 'NULL' },
    });
  });

  it('begin with a time, and belong to one organisation', async () => {
    const [mine, others] = [await bench.createOrg(), await bench.createOrg()];
    await reserve(mine, 100);
    await reserve(others, 100);
    expect((await usage.records({ orgId: mine.orgId, first: 10 })).nodes).toHaveLength(1);
    const since = new Date(Date.now() + 60_000);
    expect((await usage.records({ orgId: mine.orgId, first: 10, filter: { since } })).nodes).toEqual([]);
    await expect(usage.records({ orgId: mine.orgId, first: 1, after: '!!' })).rejects.toMatchObject({
      status: 400,
    });
  });
});
