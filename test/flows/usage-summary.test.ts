import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFolding, createUsage } from '../../src/usage/index.js';
import type {
  Folding,
  SummaryQuery,
  SummaryRow,
  Usage,
  UsageDimension,
  UsageFilter,
  UsageInterval,
} from '../../src/usage/index.js';
import { usdOf } from '../../src/pricing/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { createMeteringBench, priced, request } from '../support/metering.js';
import type { MeteringBench } from '../support/metering.js';
import { writeLedger } from '../support/usage.js';
import type { LedgerRow } from '../support/usage.js';

let db: TestDatabase;
let bench: MeteringBench;
let usage: Usage;
let folding: Folding;

beforeAll(async () => {
  db = await createTestDatabase();
  bench = await createMeteringBench(db.database);
  usage = createUsage(db);
  folding = createFolding({ ...db, logger: pino({ level: 'silent' }) });
});
afterAll(async () => {
  await folding.close();
  await bench.close();
  await db.close();
});

/** With a balance, as its first call would leave it. */
async function createOrg(): Promise<string> {
  const principal = await bench.createOrg();
  const metering = bench.metering();
  const { reservation } = await metering.admit(request(principal, { operation: priced({ credits: 0 }) }));
  await metering.release(reservation!.operationId);
  await bench.sql('DELETE FROM usage_ledger WHERE org_id = $1', [principal.orgId]);
  await bench.sql('DELETE FROM usage_folds WHERE org_id = $1', [principal.orgId]);
  await bench.sql('UPDATE balances SET sequence = 0 WHERE org_id = $1', [principal.orgId]);
  return principal.orgId;
}

/** The same numbers in every run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const HOUR = 3_600_000;
/** About the change to winter time in most of Europe and, a week later, in North America. */
const BEGIN = Date.parse('2025-10-25T00:00:00Z');
const DAYS = 10;

function randomRow(random: (below: number) => number): LedgerRow {
  const one = <Item>(items: readonly Item[]): Item => items[random(items.length)]!;
  const isAdjusted = random(30) === 0;
  const model = one(['maker/a', 'maker/b', 'other/c', null]);
  const input = random(5_000);
  return {
    settledAt: new Date(BEGIN + random(DAYS * 24 * 3_600) * 1000 + random(1000)),
    kind: isAdjusted ? 'adjustment' : one(['chat', 'embedding', 'image']),
    state: isAdjusted || random(10) > 0 ? 'settled' : 'released',
    model,
    provider: model === null ? null : one(['maker', 'other', 'third']),
    keyId: one(['key_1', 'key_2', null]),
    endUser: one(['ann', 'bob', '=cmd()', 'zoë', null]),
    tags: one([[], [], ['a'], ['b', 'a'], ['c'], ['a', 'b', 'c']]),
    status: isAdjusted ? null : one(['succeeded', 'succeeded', 'succeeded', 'failed', 'cancelled']),
    latencyMs: isAdjusted ? null : 1 + random(random(2) === 0 ? 90 : 120_000),
    tokens: random(4) === 0 ? null : [input, random(input + 1), random(10), random(2_000), random(500)],
    costNano: isAdjusted || random(6) === 0 ? null : String(random(2 ** 31) * 1_000_003),
    charged: [random(900), random(90_000), random(3), 0, 0, isAdjusted ? -random(50) : 0, 0, 0, 1],
  };
}

/** One for each zone: to make a format costs many times what its use does. */
const localFormats = new Map<string, Intl.DateTimeFormat>();

function localFormatOf(timeZone: string): Intl.DateTimeFormat {
  const known = localFormats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  });
  localFormats.set(timeZone, format);
  return format;
}

/** An interval's name in a zone, from the parts of the local time. */
function intervalOf(time: Date, interval: UsageInterval, timeZone: string): string {
  const parts = localFormatOf(timeZone).formatToParts(time);
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? '';
  const names = {
    month: ['year', 'month'],
    day: ['year', 'month', 'day'],
    hour: ['year', 'month', 'day', 'hour', 'timeZoneName'],
  };
  return names[interval].map(part).join('-');
}

const DIMENSION: Record<UsageDimension, { column: keyof SummaryRow; of(row: LedgerRow): (string | null)[] }> =
  {
    model: { column: 'model', of: ({ model = null }) => [model] },
    provider: { column: 'provider', of: ({ provider = null }) => [provider] },
    key: { column: 'keyId', of: ({ keyId = null }) => [keyId] },
    endUser: { column: 'endUser', of: ({ endUser = null }) => [endUser] },
    operation: { column: 'operation', of: ({ kind = null }) => [kind] },
    status: { column: 'status', of: ({ status = null }) => [status] },
    tag: { column: 'tag', of: ({ tags = [] }) => (tags.length === 0 ? [null] : tags) },
  };
const DIMENSIONS = Object.keys(DIMENSION) as UsageDimension[];
const FILTERS: Record<keyof UsageFilter, UsageDimension> = {
  models: 'model',
  providers: 'provider',
  keyIds: 'key',
  endUsers: 'endUser',
  operations: 'operation',
  statuses: 'status',
  tags: 'tag',
};

interface Plain {
  requests: number;
  errors: number;
  unpriced: number;
  tokens: number[];
  cost: bigint;
  amounts: number[];
  latencies: number[];
}

/** The ledger, added up by hand. */
function plainSum(rows: readonly LedgerRow[], query: SummaryQuery): Map<string, Plain> {
  const { interval, timeZone, groupBy = [], filter = {} } = query;
  const sums = new Map<string, Plain>();
  for (const row of rows) {
    if (row.settledAt < query.since! || row.settledAt >= query.until!) continue;
    const fits = Object.entries(filter!).every(([name, values]) =>
      DIMENSION[FILTERS[name as keyof UsageFilter]]
        .of(row)
        .some((value) => (values as (string | null)[]).includes(value)),
    );
    if (!fits) continue;
    const groups = groupBy!.reduce<(string | null)[][]>(
      (all, name) => all.flatMap((group) => DIMENSION[name].of(row).map((value) => [...group, value])),
      [[]],
    );
    for (const group of groups) {
      const key = JSON.stringify([intervalOf(row.settledAt, interval!, timeZone!), ...group]);
      const sum = sums.get(key) ?? {
        requests: 0,
        errors: 0,
        unpriced: 0,
        tokens: [0, 0, 0, 0, 0],
        cost: 0n,
        amounts: Array<number>(9).fill(0),
        latencies: [],
      };
      sums.set(key, sum);
      const isCall = row.kind !== 'adjustment';
      sum.requests += isCall ? 1 : 0;
      sum.errors += row.status === 'failed' ? 1 : 0;
      sum.unpriced += isCall && row.costNano == null ? 1 : 0;
      sum.cost += BigInt(row.costNano ?? 0);
      sum.tokens = sum.tokens.map((count, at) => count + (row.tokens?.[at] ?? 0));
      sum.amounts = sum.amounts.map((count, at) => count + (row.charged?.[at] ?? 0));
      if (row.latencyMs != null) sum.latencies.push(row.latencyMs);
    }
  }
  return sums;
}

const BUCKET_ORDER = [
  'credits',
  'chat_tokens',
  'image_generations',
  'image_edits',
  'video_seconds',
  'stt_seconds',
  'tts_chars',
  'music_tracks',
  'agent_runs',
] as const;

/** A summary's row in the words of {@link plainSum}. */
function shown(row: SummaryRow, { interval, timeZone, groupBy = [] }: SummaryQuery) {
  const group = groupBy!.map((name) => row[DIMENSION[name].column]);
  const { tokens } = row;
  return {
    key: JSON.stringify([intervalOf(row.start, interval!, timeZone!), ...group]),
    sums: {
      requests: row.requests,
      errors: row.errors,
      unpriced: row.unpriced,
      tokens: [tokens.input, tokens.cachedInput, tokens.cacheWrite, tokens.output, tokens.reasoning],
      cost: row.costUsd,
      amounts: BUCKET_ORDER.map((bucket) => row.amounts[bucket] ?? 0),
    },
  };
}

function expectPercentile(found: number | null, latencies: number[], share: number): void {
  const sorted = latencies.toSorted((a, b) => a - b);
  const exact = sorted[Math.ceil(share * sorted.length) - 1];
  if (exact === undefined) return expect(found).toBeNull();
  expect(Math.abs(found! - exact)).toBeLessThanOrEqual(exact * 0.05);
}

async function compare(rows: readonly LedgerRow[], query: SummaryQuery): Promise<void> {
  const expected = plainSum(rows, query);
  const found = await usage.summary(query);
  const keys = found.map((row) => shown(row, query).key);
  expect(keys.toSorted()).toEqual([...expected.keys()].toSorted());
  for (const row of found) {
    const { key, sums } = shown(row, query);
    const { latencies, cost, ...plain } = expected.get(key)!;
    expect(sums).toEqual({ ...plain, cost: usdOf(cost) });
    expectPercentile(row.latencyMs.p50, latencies, 0.5);
    expectPercentile(row.latencyMs.p95, latencies, 0.95);
    const unasked = DIMENSIONS.filter((name) => !query.groupBy!.includes(name));
    for (const name of unasked) expect(row[DIMENSION[name].column]).toBeNull();
  }
  expect(found.map(({ start }) => start.getTime())).toEqual(
    found.map(({ start }) => start.getTime()).toSorted((a, b) => a - b),
  );
}

const ZONES = [
  'UTC',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'America/New_York',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Pacific/Chatham',
];

/** Dimensions, filters, zones, intervals and times of all kinds. */
function randomQuery(
  orgId: string,
  random: (below: number) => number,
  rows: readonly LedgerRow[],
): SummaryQuery {
  const groupBy = Array.from({ length: random(3) }, () => DIMENSIONS[random(DIMENSIONS.length)]!);
  const filter: UsageFilter = {};
  for (let left = random(3); left > 0; left--) {
    const [name, dimension] = Object.entries(FILTERS)[random(7)]! as [keyof UsageFilter, UsageDimension];
    const values = DIMENSION[dimension].of(rows[random(rows.length)]!).filter((value) => value !== null);
    if (values.length > 0) filter[name] = values.slice(0, 1 + random(2));
  }
  const quarters = (DAYS * 24 * 4) / 2;
  // All of it has whole weeks.
  const isAll = random(4) === 0;
  const since = isAll ? BEGIN - 7 * 24 * HOUR : BEGIN + random(quarters) * 900_000;
  const until = isAll ? since + 21 * 24 * HOUR : since + (1 + random(quarters + 100)) * 900_000;
  return {
    orgId,
    since: new Date(since),
    until: new Date(until),
    interval: (['hour', 'day', 'month'] as const)[random(3)]!,
    groupBy: [...new Set(groupBy)],
    filter,
    timeZone: ZONES[random(ZONES.length)]!,
  };
}

describe('a summary', () => {
  it('is the sum of the ledger, whatever is grouped, filtered and in whose time, while the ledger grows', async () => {
    const orgId = await createOrg();
    const random = randomOf(20_261_126);
    const rows: LedgerRow[] = [];
    for (let round = 0; round < 4; round++) {
      // Also of times that were folded and grouped long ago: a settlement may come as late as it likes.
      const more = Array.from({ length: 300 }, () => randomRow(random));
      await writeLedger(db.database, orgId, more);
      rows.push(...more);
      await folding.fold();
      for (let queries = 0; queries < 40; queries++) await compare(rows, randomQuery(orgId, random, rows));
    }
    await usage.rebuild(orgId);
    for (let queries = 0; queries < 40; queries++) await compare(rows, randomQuery(orgId, random, rows));
  }, 120_000);

  it('has rollups beside the cells by then', async () => {
    const levels = await bench.sql<{ level: number }>(
      'SELECT DISTINCT level FROM usage_rollups ORDER BY level',
    );
    expect(levels).toEqual([{ level: 1 }, { level: 2 }, { level: 3 }, { level: 4 }]);
  });

  it('over organisations is what the summaries of each add up to, by days, models and providers', async () => {
    const random = randomOf(11);
    const orgIds = [await createOrg(), await createOrg()];
    for (const orgId of orgIds)
      await writeLedger(
        db.database,
        orgId,
        Array.from({ length: 200 }, () => randomRow(random)),
      );
    await folding.fold();
    const times = { since: new Date(BEGIN + 24 * HOUR), until: new Date(BEGIN + 8 * 24 * HOUR) };
    const summaries = await Promise.all(
      orgIds.map(async (orgId) => {
        const rows = await usage.summary({ ...times, orgId, groupBy: ['model', 'provider'] });
        return rows.map(({ start: day, model, provider, requests, errors, tokens, costUsd, unpriced }) => ({
          ...{ day, orgId, model, provider, requests, errors, tokens, costUsd, unpriced },
        }));
      }),
    );
    const keyOf = (row: {
      day: Date | null;
      orgId: string | null;
      model: string | null;
      provider: string | null;
    }) => [row.day?.getTime(), row.orgId, row.model, row.provider].join();
    const sorted = <Row extends Parameters<typeof keyOf>[0]>(rows: Row[]) =>
      rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const query = { ...times, orgIds };
    const all = await usage.overall({ ...query, groupBy: ['day', 'organization', 'model', 'provider'] });
    expect(sorted(all.map(({ orgName: _, ...row }) => row))).toEqual(sorted(summaries.flat()));
    for (const groupBy of [[], ['organization'], ['model'], ['provider']] as const) {
      const rows = await usage.overall({ ...query, groupBy });
      const requests = rows.reduce((sum, row) => sum + row.requests, 0);
      expect(requests).toBe(summaries.flat().reduce((sum, row) => sum + row.requests, 0));
    }
  });

  it('keeps what was folded of months that the ledger has dropped, also where it is folded anew', async () => {
    const orgId = await createOrg();
    const random = randomOf(7);
    const rows = Array.from({ length: 200 }, () => randomRow(random)).toSorted(
      (a, b) => a.settledAt.getTime() - b.settledAt.getTime(),
    );
    await writeLedger(db.database, orgId, rows);
    await folding.fold();
    await bench.sql('DELETE FROM usage_ledger WHERE org_id = $1 AND sequence <= 120', [orgId]);
    const query = {
      ...randomQuery(orgId, random, rows),
      since: new Date(BEGIN),
      until: new Date(BEGIN + DAYS * 24 * HOUR),
    };
    await compare(rows, { ...query, filter: {}, groupBy: ['model', 'tag'] });
    await usage.rebuild(orgId);
    await compare(rows, { ...query, filter: {}, groupBy: ['model', 'tag'] });
    await compare(rows, { ...query, filter: {}, groupBy: ['endUser', 'key'], interval: 'hour' });
  });

  it('shows nothing of other organisations', async () => {
    const query = { orgId: await createOrg(), since: new Date(BEGIN), interval: 'month' as const };
    expect(await usage.summary(query)).toEqual([]);
  });
});

describe('folding', () => {
  it('neither loses nor doubles a row where several workers are at it and one of them is killed', async () => {
    const orgId = await createOrg();
    const random = randomOf(99);
    const rows: LedgerRow[] = [];
    const others = Array.from({ length: 3 }, () =>
      createFolding({ ...db, logger: pino({ level: 'silent' }) }),
    );
    for (let round = 0; round < 5; round++) {
      const more = Array.from({ length: 120 }, () => randomRow(random));
      rows.push(...more);
      await writeLedger(db.database, orgId, more);
      const killed = db.database.transaction(async (sql) => {
        await sql.query('SELECT penstock_usage_fold($1, 50)', [orgId]);
        throw new Error('killed');
      });
      await Promise.allSettled([killed, ...others.map((other) => other.fold())]);
    }
    await folding.fold();
    const query = {
      orgId,
      since: new Date(BEGIN),
      until: new Date(BEGIN + DAYS * 24 * HOUR),
      interval: 'day' as const,
    };
    await compare(rows, { ...query, groupBy: ['key'], filter: {}, timeZone: 'UTC' });
  });

  it('goes on with other organisations where the ledger of one is long', async () => {
    const [long, short] = [await createOrg(), await createOrg()];
    const random = randomOf(3);
    await writeLedger(
      db.database,
      long,
      Array.from({ length: 6_000 }, () => randomRow(random)),
    );
    await writeLedger(db.database, short, [randomRow(random)]);
    expect(await folding.fold()).toBe(6_001);
    expect(await folding.fold()).toBe(0);
  });
});

describe('a query for a summary is refused', () => {
  const good = { since: new Date(BEGIN), until: new Date(BEGIN + HOUR), interval: 'hour' as const };

  it.each<[string, Partial<SummaryQuery>, string]>([
    ['with three dimensions', { groupBy: ['model', 'key', 'tag'] }, 'group_by'],
    ['with an unknown zone', { timeZone: 'Mars/Olympus' }, 'time_zone'],
    ['with an offset in the place of a zone', { timeZone: '+05:30' }, 'time_zone'],
    ['that ends before it begins', { until: new Date(BEGIN - HOUR) }, 'until'],
    ['of the future', { since: new Date(Date.now() + 24 * HOUR), until: null }, 'since'],
    ['with an empty list', { filter: { models: [] } }, 'models'],
    ['with too many values', { filter: { tags: Array<string>(101).fill('a') } }, 'tags'],
    ['with an unknown operation', { filter: { operations: ['dance'] } }, 'operations'],
    ['with a text that PostgreSQL cannot hold', { filter: { endUsers: ['a\0b'] } }, 'end_users'],
    ['with more intervals than rows', { since: new Date('1990-01-01'), interval: 'hour' }, 'since'],
  ])('%s', async (_, change, param) => {
    const orgId = await createOrg();
    await expect(usage.summary({ orgId, ...good, ...change })).rejects.toMatchObject({
      status: 400,
      details: { param },
    });
  });

  it('whose answer would have more than 10,000 rows', async () => {
    const orgId = await createOrg();
    const rows = Array.from({ length: 10_001 }, (_, at) => ({
      settledAt: new Date(BEGIN),
      endUser: `user ${at}`,
    }));
    await writeLedger(db.database, orgId, rows);
    await folding.fold();
    const query = { orgId, ...good, groupBy: ['endUser' as const] };
    await expect(usage.summary(query)).rejects.toMatchObject({ status: 400, details: { param: 'group_by' } });
    expect(await usage.summary({ ...query, filter: { endUsers: ['user 7'] } })).toMatchObject([
      { endUser: 'user 7', requests: 1 },
    ]);
  });
});
