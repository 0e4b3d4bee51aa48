import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Principal } from '../../src/access/index.js';
import type { Metering, OperationRequest, Settlement } from '../../src/metering/index.js';
import { newId } from '../../src/contract/ids.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { charging, chat, createMeteringBench, priced, request } from '../support/metering.js';
import type { MeteringBench } from '../support/metering.js';
import { createUsage } from '../../src/usage/index.js';
import { eventually, inParallel } from '../support/wait.js';

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

async function reserve(
  principal: Principal,
  operation: OperationRequest,
  on: Metering = metering,
): Promise<string> {
  const { reservation } = await on.admit(request(principal, { operation }));
  if (reservation === null) throw new Error('nothing was reserved');
  return reservation.operationId;
}

const image = () => priced({ image_generations: 100, credits: 100 });

/** Types and data of the billing events that the organisation caused. */
const events = (orgId: string) =>
  bench.sql<{ type: string; data: Record<string, unknown> }>(
    `SELECT event ->> 'type' AS type, event -> 'data' AS data FROM outbox WHERE key = $1 AND event ->> 'type' LIKE 'credits.%' ORDER BY id`,
    [orgId],
  );

describe('a settlement', () => {
  it('charges once; a second one tells the charge of the first', async () => {
    const principal = await bench.createOrg();
    const id = await reserve(principal, image());
    const first = await metering.settle(id, charging({ image_generations: 100, credits: 100 }));
    const second = await bench.metering().settle(id, charging({ image_generations: 100, credits: 300 }));
    expect([first.applied, second.applied]).toEqual([true, false]);
    expect(second.charged).toEqual(first.charged);
    expect(second.balances.credits.used).toBe(1);
  });

  it('gives back what the work did not need', async () => {
    const principal = await bench.createOrg();
    const id = await reserve(principal, chat(10, 100_000));
    expect((await metering.balances(principal.orgId)).credits.remaining).toBe(699 - 0);
    const { balances } = await metering.settle(id, charging(metering.tokenAmounts(40, 100)));
    expect(balances.credits).toMatchObject({ used: 1, remaining: 799 });
  });

  it('of more than was reserved takes what the bucket has, and never more', async () => {
    const principal = await bench.createOrg();
    await metering.setUsed(principal.orgId, 'credits', 79_700);
    const id = await reserve(principal, chat(10, 990));
    const { charged, balances } = await metering.settle(id, charging(metering.tokenAmounts(9000, 100)));
    expect(charged).toEqual({ credits: 300, chat_tokens: 300_000 });
    expect(balances.credits).toMatchObject({ used: 800, remaining: 0 });
  });

  it('in one statement with others of several organisations, ended before or costing more, charges each its own', async () => {
    const [one, two] = [await bench.createOrg(), await bench.createOrg()];
    const ids = await Promise.all(
      [one, one, two, two, two].map((caller) => reserve(caller, chat(1000, 1000))),
    );
    const [early = '', plain = '', other = '', more = '', given = ''] = ids;
    await metering.settle(early, charging({ credits: 100, chat_tokens: 60_000 }));
    const settled = await Promise.all([
      metering.settle(early, charging({ credits: 200, chat_tokens: 200_000 })),
      metering.settle(plain, charging({ credits: 200, chat_tokens: 190_000 })),
      metering.settle(other, charging({ credits: 100, chat_tokens: 100_000 })),
      metering.settle(more, charging({ credits: 300, chat_tokens: 250_000 })),
      metering.release(given),
    ]);
    expect(settled.slice(0, 4).map((one) => one && [one.applied, one.charged])).toEqual([
      [false, { credits: 100, chat_tokens: 60_000 }],
      [true, { credits: 200, chat_tokens: 190_000 }],
      [true, { credits: 100, chat_tokens: 100_000 }],
      [true, { credits: 300, chat_tokens: 250_000 }],
    ]);
    const used = await Promise.all([one, two].map(({ orgId }) => metering.balances(orgId)));
    expect(used.map(({ credits }) => credits.used)).toEqual([3, 4]);
    const quick = await Promise.all([reserve(one, chat(10, 10)), reserve(two, chat(10, 10))]);
    const together = await Promise.all(
      quick.map((id) => metering.settle(id, charging({ credits: 100, chat_tokens: 9_000 }))),
    );
    expect(together.map(({ applied, balances }) => [applied, balances.credits.used])).toEqual([
      [true, 4],
      [true, 5],
    ]);
    const left = await bench.sql<{ open: boolean }>(
      'SELECT bool_or(reserved <> array_fill(0::bigint, ARRAY[9])) AS open FROM balances WHERE org_id IN ($1, $2)',
      [one.orgId, two.orgId],
    );
    expect(left).toEqual([{ open: false }]);
  });

  it('charges an operation whose reservation was lost with the database', async () => {
    const principal = await bench.createOrg();
    const id = await reserve(principal, chat(10, 990));
    await bench.sql('DELETE FROM usage_ledger WHERE operation_id = $1', [id]);
    await bench.sql(`UPDATE balances SET reserved = '{0,0,0,0,0,0,0,0,0}' WHERE org_id = $1`, [
      principal.orgId,
    ]);
    const { applied, charged } = await metering.settle(id, charging(metering.tokenAmounts(500, 100)));
    expect([applied, charged.credits]).toEqual([true, 100]);
    const { nodes } = await createUsage(db).records({ orgId: principal.orgId, first: 10 });
    expect(nodes[0]).toMatchObject({
      id,
      operation: 'chat',
      state: 'settled',
      keyId: principal.keyId,
      requestId: 'req_test',
    });
  });

  it('races with releases on other processes, and one of them wins', async () => {
    const principal = await bench.createOrg();
    const [second, third] = [bench.metering(), bench.metering()];
    const ids = await Promise.all(Array.from({ length: 200 }, () => reserve(principal, image())));
    const outcomes = await Promise.all(
      ids.map((id) =>
        Promise.all([
          metering.settle(id, charging({ image_generations: 100, credits: 100 })),
          third.release(id),
          second.settle(id, charging({ image_generations: 100, credits: 100 })),
        ]),
      ),
    );
    const applied = (settlement: Settlement): number => (settlement.applied ? 1 : 0);
    const charges = outcomes.map(([a, , b]) => applied(a) + applied(b));
    expect(charges.every((count) => count <= 1)).toBe(true);
    const { credits, image_generations } = await metering.balances(principal.orgId);
    const settled = charges.filter((count) => count === 1).length;
    expect([credits.used, image_generations.used]).toEqual([settled, settled]);
    expect([credits.remaining, image_generations.remaining]).toEqual([800 - settled, 600 - settled]);
  });

  it('after a release changes nothing', async () => {
    const principal = await bench.createOrg();
    const id = await reserve(principal, image());
    await metering.release(id);
    await metering.release(id);
    expect(await metering.settle(id, charging({ credits: 100 }))).toMatchObject({
      applied: false,
      charged: {},
    });
    expect((await metering.balances(principal.orgId)).credits).toMatchObject({ used: 0, remaining: 800 });
  });
});

describe('inside another transaction', () => {
  it('settles, releases and attaches by SQL, each once', async () => {
    const principal = await bench.createOrg();
    const [one, two] = [await reserve(principal, image()), await reserve(principal, image())];
    const amounts = '{100,0,100,0,0,0,0,0,0}';
    const [row] = await bench.sql<{
      first: { applied: boolean; charged: number[] };
      again: { applied: boolean };
    }>('SELECT penstock_settle($1, $2::bigint[]) AS first, penstock_settle($1, $2::bigint[]) AS again', [
      one,
      amounts,
    ]);
    expect(row?.first).toMatchObject({
      applied: true,
      charged: [100, 0, 100, 0, 0, 0, 0, 0, 0],
      balances: { used: [100, 0, 100, 0, 0, 0, 0, 0, 0] },
    });
    expect(row?.again.applied).toBe(false);
    expect(
      await bench.sql(
        `SELECT penstock_attach($1, 'job_x') AS a, penstock_release($1) AS b, penstock_release($1) AS c, penstock_attach($1, 'job_x') AS d`,
        [two],
      ),
    ).toEqual([{ a: true, b: true, c: false, d: false }]);
  });
});

describe('billing events', () => {
  it('fire once for a period and bucket, when used crosses 90 % and when it reaches the limit', async () => {
    const principal = await bench.createOrg();
    const use = async (credits: number) =>
      metering.settle(await reserve(principal, priced({ credits })), charging({ credits }));
    await use(72_000);
    expect(await events(principal.orgId)).toEqual([]);
    await use(100);
    await use(100);
    expect(await events(principal.orgId)).toEqual([
      { type: 'credits.low', data: { bucketType: 'credits', remaining: 79, limit: 800, percentUsed: 90.13 } },
    ]);
    await use(7800);
    await metering.topUp(principal.orgId, 'credits', 50_000);
    await use(50_000);
    expect((await events(principal.orgId)).map(({ type, data }) => [type, data['remaining']])).toEqual([
      ['credits.low', 79],
      ['credits.depleted', 0],
    ]);
  });

  it('fire for an operator’s change, both at once where it takes all, and not for buckets without an allowance', async () => {
    const principal = await bench.createOrg('cli_pro');
    await metering.setUsed(principal.orgId, 'credits', 200_000);
    await metering.setUsed(principal.orgId, 'agent_runs', 900_000);
    await metering.setUsed(principal.orgId, 'music_tracks', 100);
    expect((await events(principal.orgId)).map(({ type, data }) => [type, data['bucketType']])).toEqual([
      ['credits.low', 'credits'],
      ['credits.depleted', 'credits'],
    ]);
  });
});

describe('a lost connection', () => {
  it('costs repetitions, never a charge twice or a reservation left over', async () => {
    const principal = await bench.createOrg('cli_team');
    const owner = new pg.Client({ connectionString: db.url });
    await owner.connect();
    let done = false;
    const killer = (async () => {
      while (!done) {
        await owner.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%penstock_%'
             AND pid <> pg_backend_pid() AND random() < 0.5`,
        );
        await setTimeout(40);
      }
    })();
    const calls = await inParallel(Array.from({ length: 600 }), 40, async () => {
      const id = await reserve(principal, chat(10, 990));
      return metering.settle(id, charging(metering.tokenAmounts(900, 100)));
    });
    done = true;
    await killer;
    await owner.end();
    expect(calls.every(({ charged }) => charged.credits === 100)).toBe(true);
    expect((await metering.balances(principal.orgId)).credits).toMatchObject({ used: 600, remaining: 9400 });
    expect(await bench.ledgerSum(principal.orgId, 1, 'settled')).toBe(60_000);
    expect(await bench.ledgerSum(principal.orgId, 1, 'reserved')).toBe(0);
  });
});

describe('a lost process', () => {
  it('has its reservations given back, those of jobs not, and is still charged where it was only slow', async () => {
    const principal = await bench.createOrg();
    const processId = newId('proc');
    const slow = bench.metering({ processId });
    const held = await reserve(principal, image(), slow);
    const ofJob = await reserve(principal, image(), slow);
    await bench.sql('SELECT penstock_attach($1, $2)', [ofJob, 'job_x']);
    await bench.sql(
      `INSERT INTO processes (id, role, lease_until) VALUES ($1, 'api', now() - interval '1 second')`,
      [processId],
    );
    metering.start();
    await eventually(async () => (await metering.balances(principal.orgId)).credits.remaining === 799);
    const { applied, balances } = await slow.settle(held, charging({ credits: 100 }));
    expect([applied, balances.credits.used]).toEqual([true, 1]);
    expect(
      await bench.sql('SELECT state, job_id FROM usage_ledger WHERE operation_id = $1', [ofJob]),
    ).toEqual([{ state: 'reserved', job_id: 'job_x' }]);
  });

  it('that never wrote its lease has one lease’s time', async () => {
    const principal = await bench.createOrg();
    const id = await reserve(principal, image(), bench.metering());
    await bench.sql('SELECT penstock_sweep(15000)');
    expect((await metering.balances(principal.orgId)).credits.remaining).toBe(799);
    await bench.sql(
      `UPDATE usage_ledger SET created_at = now() - interval '16 seconds' WHERE operation_id = $1`,
      [id],
    );
    await bench.sql('SELECT penstock_sweep(15000)');
    expect((await metering.balances(principal.orgId)).credits.remaining).toBe(800);
  });
});

describe('the event of a settlement', () => {
  const amounts = { credits: 100 };
  const happened = async (on: Metering, principal: Principal) => {
    const id = await reserve(principal, priced(amounts), on);
    const { orgId } = principal;
    const event = { orgId, type: 'chat.message.created', data: { messageId: id }, traceparent: null };
    await on.settle(id, charging(amounts, event));
    const rows = await bench.sql(
      `SELECT 1 FROM outbox WHERE key = $1 AND event #>> '{data,messageId}' = $2`,
      [orgId, id],
    );
    return rows.length;
  };

  it('is written where a webhook, also a disabled one, or a process with Kafka may hear it', async () => {
    const alone = bench.metering({ hasEventConsumers: false });
    const principal = await bench.createOrg();
    expect(await happened(alone, principal)).toBe(0);
    expect(await happened(metering, principal)).toBe(1);
    await bench.sql(
      `INSERT INTO webhooks (id, org_id, name, url, events, enabled, secret)
       VALUES ($1, $1, 'x', 'https://example.com', '{credits.low}', false, '')`,
      [principal.orgId],
    );
    expect(await happened(alone, principal)).toBe(1);
    const other = await bench.createOrg();
    expect(await happened(alone, other)).toBe(0);
    await bench.sql('UPDATE installation SET kafka = true');
    expect(await happened(alone, other)).toBe(1);
    await bench.sql('UPDATE installation SET kafka = false');
  });
});
