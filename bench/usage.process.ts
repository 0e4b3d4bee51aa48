/**
 * Summaries of a long ledger: `usage.process.js <records>` writes this number of operations in 30 days, of 2,000 end users, 50 keys, 20 models and 20
 * tags, folds them like a worker, and then reads summaries of all 30 days. The last line is JSON.
 */
import { createUsage, type SummaryQuery } from '../src/usage/index.js';
import { withDatabase, type BenchDatabase } from './embedded.js';
import type { UsageFigures } from './usage.types.js';
import { beginOf, fillUsage, lastMidnight } from './usage-fill.js';

const count = Number(process.argv[2] ?? '10000000');
const ORG = 'org_bench';
const UNTIL = lastMidnight();
const SINCE = beginOf({ until: UNTIL });
const ROUNDS = 7;

/** Typical summaries: by days, months and hours, in several time zones, by one or two dimensions, some with filters. */
const QUERIES: Omit<SummaryQuery, 'orgId'>[] = [
  { interval: 'day' },
  { interval: 'day', groupBy: ['model'] },
  { interval: 'day', groupBy: ['model', 'status'] },
  { interval: 'day', groupBy: ['key'], timeZone: 'Asia/Kolkata' },
  { interval: 'day', groupBy: ['provider', 'operation'], timeZone: 'America/New_York' },
  { interval: 'hour', groupBy: ['status'] },
  { interval: 'month', groupBy: ['endUser'] },
  { interval: 'month', groupBy: ['tag'] },
  { interval: 'month', groupBy: ['key', 'model'], timeZone: 'Europe/Berlin' },
  { interval: 'day', groupBy: ['model'], filter: { tags: ['team-3'] } },
  { interval: 'day', groupBy: ['model'], filter: { endUsers: ['user-77'] } },
  { interval: 'month', groupBy: ['tag'], filter: { endUsers: ['user-77', 'user-78'] } },
];

/** The time that a share of the readings took at most. */
function at(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
}

const nameOf = ({ interval, groupBy = [], timeZone, filter }: (typeof QUERIES)[number]): string =>
  [
    `${interval}${groupBy!.map((name) => ` ${name}`).join('')}`,
    ...(timeZone == null ? [] : [timeZone]),
    ...(filter == null ? [] : [Object.keys(filter).join()]),
  ].join(', ');

async function measure(bench: BenchDatabase): Promise<UsageFigures> {
  const { database } = bench;
  const foldedPerSecond = await fillUsage(bench, { orgId: ORG, count, until: UNTIL });
  const usage = createUsage({ database });
  const measured = QUERIES.map((query) => ({ query, rows: 0, times: [] as number[] }));
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const each of measured) {
      const start = performance.now();
      const rows = await usage.summary({
        orgId: ORG,
        since: new Date(SINCE),
        until: new Date(UNTIL),
        ...each.query,
      });
      each.rows = rows.length;
      // The first round reads from the disk.
      if (round > 0) each.times.push(performance.now() - start);
    }
  const all = measured.flatMap(({ times }) => times);
  return {
    foldedPerSecond,
    p50: at(all, 0.5),
    p95: at(all, 0.95),
    queries: measured.map(({ query, rows, times }) => ({
      name: nameOf(query),
      rows,
      p50: at(times, 0.5),
      p95: at(times, 0.95),
    })),
  };
}

console.log(JSON.stringify(await withDatabase(measure)));
