import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Principal } from '../../src/access/index.js';
import { newId } from '../../src/contract/ids.js';
import type { Metering } from '../../src/metering/index.js';
import { createFolding } from '../../src/usage/index.js';
import { pino } from 'pino';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { foldLedger } from '../support/ledger.js';
import { charging, chat, createMeteringBench, request } from '../support/metering.js';
import type { MeteringBench } from '../support/metering.js';

const JANUARY = Date.UTC(2020, 0, 31, 23, 59, 59, 999);
const FEBRUARY = Date.UTC(2020, 1, 1);
const amounts = { credits: 100, chat_tokens: 90_000 };

let db: TestDatabase;
let bench: MeteringBench;
let metering: Metering;
let principal: Principal;

beforeAll(async () => {
  db = await createTestDatabase();
  bench = await createMeteringBench(db.database);
  metering = bench.metering();
});
afterAll(async () => {
  await bench.close();
  await db.close();
});
beforeEach(async () => {
  principal = await bench.createOrg();
});

const reserve = async (at: number): Promise<string> => {
  const operation = { ...chat(10, 990), id: newId('op', at) };
  await metering.admit(request(principal, { operation }));
  return operation.id;
};
const fold = () => createFolding({ database: db.database, logger: pino({ level: 'silent' }) }).fold();
const monthOf = async (id: string): Promise<string | undefined> => {
  const [row] = await bench.sql<{ month: string }>(
    'SELECT tableoid::regclass::text AS month FROM usage_ledger WHERE operation_id = $1',
    [id],
  );
  return row?.month;
};
const makeMonths = async (now: string) =>
  (await bench.sql<{ missing: number }>('SELECT penstock_ledger_months($1) AS missing', [now]))[0]?.missing;
/** As of a time before which only the months of 2020 are over for a month. */
const drop = async () =>
  (await bench.sql<{ answer: string }>(`SELECT penstock_ledger_drop(1, '2020-03-20Z') AS answer`))[0]?.answer;

describe('the ledger’s months', () => {
  it('are there from the last to the one after next, and what came before its month moves into it', async () => {
    const months = await bench.sql<{ month: string }>(
      `SELECT to_char(m, '"usage_ledger_"YYYY_MM') AS month
       FROM generate_series(-1, 2) n, LATERAL (SELECT (now() AT TIME ZONE 'UTC')::date + n * interval '1 month' AS m) s`,
    );
    for (const { month } of months)
      expect(await bench.sql('SELECT to_regclass($1) IS NOT NULL AS made', [month])).toEqual([
        { made: true },
      ]);
    const [last, first] = [await reserve(JANUARY), await reserve(FEBRUARY)];
    expect(await monthOf(last)).toBe('usage_ledger_default');
    expect(await makeMonths('2020-02-15Z')).toBe(0);
    expect([await monthOf(last), await monthOf(first)]).toEqual([
      'usage_ledger_2020_01',
      'usage_ledger_2020_02',
    ]);
    const settled = await Promise.all(
      [last, first, last].map((id) => metering.settle(id, charging(amounts))),
    );
    expect(settled.map(({ applied }) => applied)).toEqual([true, true, false]);
    expect((await metering.settle(first, charging(amounts))).applied).toBe(false);
    expect((await metering.balances(principal.orgId)).credits.used).toBe(2);
  });

  it('are dropped when all is over and folded, and never with an open operation; none comes back', async () => {
    await makeMonths('2020-02-15Z');
    const [open, done] = [await reserve(JANUARY), await reserve(JANUARY - 5)];
    await metering.settle(done, charging(amounts));
    await fold();
    expect(await drop()).toBe('kept');
    await metering.settle(open, charging(amounts));
    expect(await drop()).toBe('kept');
    await fold();
    const before = (await foldLedger(bench.sql, principal.orgId)).numbers;
    expect(await drop()).toBe('dropped');
    expect((await foldLedger(bench.sql, principal.orgId)).numbers).toEqual(before.slice(0, 1));
    expect((await metering.balances(principal.orgId)).credits.used).toBe(2);
    await expect(metering.settle(done, charging(amounts))).rejects.toThrow('unknown');
    const request = { org: principal.orgId, kind: 'chat', version: 1, allowance: [] };
    await bench.sql('SELECT penstock_ledger_restore($1, $2::jsonb)', [done, JSON.stringify(request)]);
    expect(await monthOf(done)).toBeUndefined();
    expect(await makeMonths('2020-02-15Z')).toBe(0);
    expect(await bench.sql(`SELECT to_regclass('usage_ledger_2020_01') AS month`)).toEqual([{ month: null }]);
    expect(await drop()).toBe('none');
  });

  it('wait for a ledger in use for a moment only, and calls behind them are answered', async () => {
    await makeMonths('2019-12-15Z');
    await bench.sql('UPDATE installation SET ledger_dropped_before = NULL');
    await makeMonths('2019-12-15Z');
    const reader = new pg.Client({ connectionString: db.url });
    await reader.connect();
    try {
      await reader.query('BEGIN');
      await reader.query('SELECT count(*) FROM usage_ledger');
      const [answer, id] = await Promise.all([drop(), reserve(Date.now())]);
      expect(answer).toBe('busy');
      expect((await metering.settle(id, charging(amounts))).applied).toBe(true);
      expect(await bench.sql('SELECT penstock_ledger_months($1) AS missing', ['2018-12-15Z'])).toEqual([
        { missing: 4 },
      ]);
    } finally {
      await reader.query('ROLLBACK');
      await reader.end();
    }
    expect(await drop()).toBe('dropped');
  });

  it('stay where an operation of theirs is opened and ended while they are about to be dropped', async () => {
    const writer = new pg.Client({ connectionString: db.url });
    await writer.connect();
    try {
      const answers: (string | undefined)[] = [];
      while (answers.at(-1) !== 'kept' && answers.length < 50) {
        const id = newId('op', Date.UTC(2019, 11, 15));
        const fallback = { org: principal.orgId, kind: 'chat', version: 1, allowance: [100_000] };
        await writer.query('BEGIN');
        await writer.query(`SELECT penstock_settle($1, '{100,0,0,0,0,0,0,0,0}', NULL, $2)`, [id, fallback]);
        const dropping = drop();
        // It has looked, and waits for the ledger.
        await sleep(15);
        await writer.query('COMMIT');
        answers.push(await dropping);
        if (answers.at(-1) === 'busy') await fold();
      }
      expect(new Set(answers)).toEqual(answers.length === 1 ? new Set(['kept']) : new Set(['busy', 'kept']));
    } finally {
      await writer.end();
    }
    const sums = () =>
      bench.sql<{ n: number }>('SELECT sum(requests)::int AS n FROM usage_cells WHERE org_id = $1', [
        principal.orgId,
      ]);
    await fold();
    expect(await drop()).toBe('dropped');
    expect(Number((await sums())[0]?.n)).toBeGreaterThan(0);
  });
});
