/** A long ledger of one organisation, for the summaries of it. */
import { createFolding } from '../src/usage/index.js';
import { addOrganisation, silent, type BenchDatabase } from './embedded.js';

const DAY_MS = 86_400_000;
/** Its operations end in so many days before today. */
const DAYS = 30;
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

/** What is filled. */
export interface FillOptions {
  orgId: string;
  count: number;
  /** When the last of them ended, Unix milliseconds. */
  until: number;
}

/** Midnight before now, in UTC. */
export const lastMidnight = (): number => Math.floor(Date.now() / DAY_MS) * DAY_MS;

/** When the first of them ended. */
export const beginOf = ({ until }: Pick<FillOptions, 'until'>): number => until - DAYS * DAY_MS;

/** Writes operations of 30 days, of 2,000 end users, 50 keys, 20 models and 20 tags, and folds them as a worker does. @returns rows folded a second */
export async function fillUsage({ database }: BenchDatabase, filling: FillOptions): Promise<number> {
  const { orgId, count, until } = filling;
  await addOrganisation(database, orgId);
  const since = beginOf(filling);
  // The period is the first row: what comes behind it ends after it.
  await database.system.query(
    'UPDATE usage_ledger SET settled_at = to_timestamp($2::bigint / 1000.0) WHERE org_id = $1',
    [orgId, since],
  );
  const stepMs = (until - since) / (count + 1);
  for (let first = 1; first <= count; first += BATCH) {
    const last = Math.min(count, first + BATCH - 1);
    await database.system.query(FILL, [orgId, since, stepMs, first, last]);
    await database.system.query('UPDATE balances SET sequence = $2 WHERE org_id = $1', [orgId, last]);
  }
  const folding = createFolding({ database, logger: silent });
  const begin = performance.now();
  const folded = await folding.fold();
  const perSecond = (folded * 1000) / (performance.now() - begin);
  await folding.close();
  // The organisation's first period is a row of the ledger too.
  if (folded !== count + 1) throw new Error(`${folded} of ${count} records were folded`);
  return perSecond;
}
