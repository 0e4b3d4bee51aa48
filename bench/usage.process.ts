/**
 * Summaries of a long ledger: `usage.process.js <records>` writes so many operations of 30 days, of 2,000 end users, 50 keys, 20 models and 20 tags, has
 * them folded as a worker does, and then asks for summaries of all 30 days. The last line is JSON.
 */
import { createFolding, createUsage, type SummaryQuery } from '../src/usage/index.js';
import { addOrganisation, silent, withDatabase, type BenchDatabase } from './embedded.js';

const count = Number(process.argv[2] ?? '10000000');
const ORG = 'org_bench';
const DAY_MS = 86_400_000;
const UNTIL = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const SINCE = UNTIL - 30 * DAY_MS;
const ROUNDS = 7;
/** Rows of one statement that writes them. */
const BATCH = 100_000;

const FILL = `INSERT INTO usage_ledger (operation_id, org_id, key_id, kind, state, period_start, reserved, charged, model, request_id, created_at, settled_at,
    end_user, tags, answered_model, provider, upstream_id, status, latency_ms, first_token_ms, tokens, cost_nano, cost_version, sequence)
  SELECT 'op_' || lpad(i::text, 26, '0'), $1, 'key_' || u % 50,
    CASE WHEN r1 < 0.8 THEN 'chat' WHEN r1 < 0.9 THEN 'embedding' WHEN r1 < 0.95 THEN 'image' ELSE 'agent_model' END, 'settled', b.period_start,
    penstock_zeros(), penstock_token_vector(100 * (1 + output / 1000), 100 * (input + output)), 'maker/model-' || m, 'req_' || i,
    at - ms * interval '1 ms', at, 'user-' || u,
    CASE WHEN r2 < 0.3 THEN '{}' WHEN r2 < 0.7 THEN ARRAY['team-' || i % 20] ELSE ARRAY['env-' || i % 3, 'team-' || i % 20] END,
    'maker/model-' || m, 'provider-' || m % 6, 'up_' || i, CASE WHEN r3 < 0.96 THEN 'succeeded' WHEN r3 < 0.99 THEN 'failed' ELSE 'cancelled' END,
    ms, ms / 4, ARRAY[input, input / 3, 0, output, output / 4], CASE WHEN m < 19 THEN input * 250 + output * 2000 END, 'maker/model@2026', i
  FROM (SELECT i, to_timestamp(($2::bigint + (i * $3::float8)::bigint) / 1000.0) AS at, floor(2000 * random() ^ 2)::int AS u,
      floor(20 * random() ^ 1.5)::int AS m, random() AS r1, random() AS r2, random() AS r3, (100 + 20000 * random() ^ 4)::int AS ms,
      (50 + 3000 * random() ^ 2)::bigint AS input, (10 + 900 * random())::bigint AS output
    FROM generate_series($4::bigint, $5::bigint) i OFFSET 0) x
  CROSS JOIN (SELECT period_start FROM balances WHERE org_id = $1 AND NOT superseded) b`;

/** What people look at: by days, months and hours, in several zones, by one or two dimensions, some of them filtered. */
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

async function fill({ database }: BenchDatabase): Promise<void> {
  await addOrganisation(database, ORG);
  const stepMs = (UNTIL - SINCE) / (count + 1);
  for (let first = 1; first <= count; first += BATCH) {
    const last = Math.min(count, first + BATCH - 1);
    await database.system.query(FILL, [ORG, SINCE, stepMs, first, last]);
    await database.system.query('UPDATE balances SET sequence = $2 WHERE org_id = $1', [ORG, last]);
  }
}

async function measure(bench: BenchDatabase): Promise<{ foldedPerSecond: number; p50: number; p95: number }> {
  const { database } = bench;
  await fill(bench);
  const folding = createFolding({ database, logger: silent });
  const begin = performance.now();
  const folded = await folding.fold();
  const foldedPerSecond = (folded * 1000) / (performance.now() - begin);
  await folding.close();
  if (folded !== count) throw new Error(`${folded} of ${count} records were folded`);
  const usage = createUsage({ database });
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const query of QUERIES) {
      const start = performance.now();
      await usage.summary({ orgId: ORG, since: new Date(SINCE), until: new Date(UNTIL), ...query });
      // The first round reads from the disk.
      if (round > 0) times.push(performance.now() - start);
    }
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return { foldedPerSecond, p50: at(0.5), p95: at(0.95) };
}

console.log(JSON.stringify(await withDatabase(measure)));
