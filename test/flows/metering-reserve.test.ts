import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Principal } from '../../src/access/index.js';
import { ApiError } from '../../src/contract/errors.js';
import type { Metering } from '../../src/metering/index.js';
import { rateOf } from '../../src/metering/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { charging, chat, createMeteringBench, priced, request } from '../support/metering.js';
import type { MeteringBench } from '../support/metering.js';
import { eventually } from '../support/wait.js';

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

const caught = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'admitted',
    (error: unknown) => error,
  );

describe('reserving', () => {
  it('lets exactly one of 1,000 concurrent calls on three processes take the last unit', async () => {
    const principal = await bench.createOrg();
    await metering.setUsed(principal.orgId, 'image_generations', 59_900);
    const processes = [metering, bench.metering(), bench.metering()];
    const outcomes = await Promise.all(
      Array.from({ length: 1000 }, (_, i) =>
        caught(
          processes[i % 3]!.admit(
            request(principal, {
              endpoint: 'image',
              operation: priced({ image_generations: 100, credits: 50 }),
            }),
          ),
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'admitted' || !(outcome instanceof Error))).toHaveLength(
      1,
    );
    expect(
      outcomes.filter((outcome) => (outcome as Error).message === 'Quota exceeded for image_generations'),
    ).toHaveLength(999);
    expect(await bench.ledgerSum(principal.orgId, 3, 'reserved')).toBe(100);
    expect((await metering.balances(principal.orgId)).image_generations.remaining).toBe(0);
    expect((await metering.balances(principal.orgId)).credits.remaining).toBe(799.5);
  });

  it('keeps used equal to the sum of the settled ledger rows, whatever ends how', async () => {
    const principal = await bench.createOrg();
    const other = bench.metering();
    await Promise.all(
      Array.from({ length: 300 }, async (_, i) => {
        const process = i % 2 === 0 ? metering : other;
        const operation = i % 3 === 0 ? chat(10, 1000) : priced({ image_generations: 100, credits: 100 });
        const { reservation } = await process
          .admit(request(principal, { operation }))
          .catch(() => ({ reservation: null }));
        if (reservation === null) return;
        if (i % 5 === 0) await process.release(reservation.operationId);
        else
          await process.settle(
            reservation.operationId,
            charging(i % 3 === 0 ? metering.tokenAmounts(500, 100) : reservation.amounts),
          );
      }),
    );
    const [row] = await bench.sql<{ used: number[]; reserved: number[] }>(
      'SELECT used, reserved FROM balances WHERE org_id = $1',
      [principal.orgId],
    );
    for (const bucket of [1, 2, 3])
      expect(row?.used[bucket - 1]).toBe(await bench.ledgerSum(principal.orgId, bucket, 'settled'));
    expect(row?.reserved).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(row?.used[0]).toBeGreaterThan(0);
  });

  it('takes the whole price or nothing of it, and names the first bucket that is short', async () => {
    const principal = await bench.createOrg('pro_monthly');
    await metering.setUsed(principal.orgId, 'credits', 19_900);
    const error = await caught(
      metering.admit(request(principal, { operation: priced({ image_generations: 100, credits: 200 }) })),
    );
    expect(error).toMatchObject({
      status: 402,
      message: 'Quota exceeded for credits',
      details: { remaining: 1 },
    });
    expect((await metering.balances(principal.orgId)).image_generations.remaining).toBe(150);
    expect(rateOf(error)).toMatchObject({ limit: 1_000_000, remaining: 999_999 });
  });

  it('answers with the endpoint’s own message for its own bucket only', async () => {
    const principal = await bench.createOrg();
    const run = priced({ agent_runs: 100, credits: 200 }, { exhaustedMessage: 'Agent run quota exceeded' });
    await metering.setUsed(principal.orgId, 'agent_runs', 50_000);
    await expect(metering.admit(request(principal, { operation: run }))).rejects.toThrow(
      'Agent run quota exceeded',
    );
    await metering.setUsed(principal.orgId, 'agent_runs', 0);
    await metering.setUsed(principal.orgId, 'credits', 80_000);
    await expect(metering.admit(request(principal, { operation: run }))).rejects.toThrow(
      'Quota exceeded for credits',
    );
  });

  it('never refuses an unlimited bucket, and still counts it', async () => {
    const principal = await bench.createOrg('cli_pro');
    const { reservation } = await metering.admit(
      request(principal, { operation: priced({ agent_runs: 500_000_00 }) }),
    );
    await metering.settle(reservation!.operationId, charging({ agent_runs: 500_000_00 }));
    expect((await metering.balances(principal.orgId)).agent_runs).toEqual({
      bucket: 'agent_runs',
      limit: -1,
      remaining: -1,
      used: 500_000,
      reserved: 0,
      usagePercent: 0,
    });
  });

  it('answers a repeated operation id with the first reservation, and reserves nothing more', async () => {
    const principal = await bench.createOrg();
    const operation = chat(100, 900);
    const [first, again] = await Promise.all(
      [0, 1].map(() => metering.admit(request(principal, { operation }))),
    );
    const later = await bench.metering().admit(request(principal, { operation }));
    expect(again?.reservation).toEqual(first?.reservation);
    expect(later.reservation).toEqual(first?.reservation);
    expect((await metering.balances(principal.orgId)).credits.remaining).toBe(799);
  });
});

describe('a chat call', () => {
  it('is capped at what is left where the prompt and one token fit', async () => {
    const principal = await bench.createOrg();
    await metering.setUsed(principal.orgId, 'credits', 79_800);
    const { reservation } = await metering.admit(request(principal, { operation: chat(1999, 5000) }));
    expect(reservation).toMatchObject({
      coveredTokens: 2000,
      amounts: { credits: 200, chat_tokens: 200_000 },
    });
  });

  it('is refused where they do not, with the chat tokens that remain', async () => {
    const principal = await bench.createOrg();
    await metering.setUsed(principal.orgId, 'credits', 79_800);
    const error = await caught(metering.admit(request(principal, { operation: chat(2000, 1) })));
    expect(error).toMatchObject({
      status: 402,
      code: 'quota_exceeded',
      message: 'Quota exceeded for chat_tokens',
      details: { remaining: 2000 },
    });
  });

  it('of a dearer tier is cut where its multiplier makes it', async () => {
    const principal = await bench.createOrg();
    await metering.setUsed(principal.orgId, 'credits', 79_700);
    const { reservation } = await metering.admit(request(principal, { operation: chat(100, 5000, 200) }));
    expect(reservation?.coveredTokens).toBe(1500);
  });

  it('counts whole credits, and tokens in the token view', async () => {
    const principal = await bench.createOrg();
    const { reservation } = await metering.admit(request(principal, { operation: chat(100, 2048, 150) }));
    const settled = await metering.settle(
      reservation!.operationId,
      charging(metering.tokenAmounts(700, 150)),
    );
    expect(settled.charged).toEqual({ credits: 200, chat_tokens: 105_000 });
    expect(settled.balances.credits).toMatchObject({ used: 2, remaining: 798 });
    expect(settled.balances.chat_tokens).toMatchObject({ limit: 800_000, used: 1050, remaining: 798_000 });
  });
});

describe('the caller’s key and plan', () => {
  it('is refused at once after its revocation and its expiry, and takes no slot', async () => {
    const principal = await bench.createOrg();
    await bench.keys.revoke(principal.keyId);
    await expect(metering.admit(request(principal))).rejects.toMatchObject({
      status: 401,
      message: 'Invalid or missing API key',
    });
    await bench.sql('UPDATE api_keys SET revoked_at = NULL, expires_at = now() WHERE id = $1', [
      principal.keyId,
    ]);
    const error = await caught(metering.admit(request(principal)));
    expect(error).toMatchObject({ status: 401, message: 'API key has expired' });
    expect(rateOf(error)).toBeNull();
    expect(await bench.sql('SELECT 1 FROM rate_windows WHERE key_id = $1', [principal.keyId])).toEqual([]);
  });

  it('is read again where the plan changed, and the new limits hold', async () => {
    const principal = await bench.createOrg('free');
    const operation = priced({ image_generations: 100 });
    await expect(metering.admit(request(principal, { operation }))).rejects.toThrow(
      'Quota exceeded for image_generations',
    );
    await bench.organizations.changePlan(principal.orgId, 'pro_monthly');
    const { reservation } = await metering.admit(
      request(principal, { operation: { ...operation, id: `${operation.id}b` } }),
    );
    expect(reservation).not.toBeNull();
    expect((await metering.balances(principal.orgId)).image_generations).toMatchObject({
      limit: 150,
      remaining: 149,
    });
  });

  it('does not disturb the other callers of its batch', async () => {
    const [good, bad] = [await bench.createOrg(), await bench.createOrg()];
    await bench.keys.revoke(bad.keyId);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        caught(metering.admit(request(i % 2 === 0 ? good : bad, { operation: chat(1, 10) }))),
      ),
    );
    expect(outcomes.map((outcome) => (outcome instanceof Error ? 'refused' : 'admitted'))).toEqual(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? 'admitted' : 'refused')),
    );
  });

  it('is given back where its caller was refused, whatever becomes of the batch', async () => {
    const [first, late, last] = [await bench.createOrg(), await bench.createOrg(), await bench.createOrg()];
    let statements = 0;
    const lossy = bench.metering({
      async dedicated(settings) {
        const sql = await db.database.dedicated(settings);
        return {
          ...sql,
          async text(statement, ...rest) {
            if (statement.name !== 'penstock_admit') return await sql.text(statement, ...rest);
            statements += 1;
            if (statements <= 2) {
              const answer = await sql.text(statement, ...rest);
              if (statements === 2) throw new ApiError('unavailable', 'its answer was lost');
              await sleep(4000);
              return answer;
            }
            if (performance.now() - askedAt < 6200) throw new ApiError('unavailable', 'away');
            throw new Error('read-only by now');
          },
        };
      },
    });
    const askedAt = performance.now();
    const admit = (principal: Principal) =>
      caught(lossy.admit(request(principal, { operation: chat(1, 10) })));
    const inTheWay = admit(first);
    await sleep(100);
    const refused = admit(late);
    await sleep(2900);
    const failed = admit(last);
    expect(await inTheWay).toBe('admitted');
    expect(await refused).toMatchObject({ code: 'unavailable' });
    expect(await failed).toMatchObject({ message: 'read-only by now' });
    for (const { orgId } of [late, last])
      await eventually(async () => (await bench.ledgerSum(orgId, 1, 'reserved')) === 0);
  });
});
