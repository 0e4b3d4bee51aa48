import type { Principal } from '../access/access.types.js';
import type { Database } from '../database/index.js';
import type { RateState } from './metering.types.js';
import { keyRule } from './rates.js';

const PEEK = {
  name: 'penstock_rate_peek',
  text: `SELECT COALESCE(sum(u.count), 0)::int AS used, min(u.stamp) AS oldest, n.us AS now
    FROM (SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS us) n
    LEFT JOIN rate_windows w ON w.key_id = $1 AND w.name = $2
    LEFT JOIN LATERAL unnest(w.stamps, w.counts) AS u(stamp, count) ON u.stamp > n.us - $3
    GROUP BY n.us`,
};

interface Row {
  used: number;
  oldest: number | null;
  now: number;
}

/**
 * The key's own window as it stands, without taking a slot: what the X-RateLimit-* headers of a refusal before step 4 of
 * decisions.md 1 report.
 */
export function createRatePeek(
  database: Pick<Database, 'system'>,
): (principal: Principal) => Promise<RateState> {
  return async ({ keyId, plan }) => {
    const { limit, lengthUs } = keyRule(plan);
    const [row] = await database.system.query<Row>(PEEK, [keyId, 'key', lengthUs]);
    const { used, oldest, now } = row ?? { used: 0, oldest: null, now: Date.now() * 1000 };
    const gainsAt = (oldest ?? now) + (oldest === null ? 0 : lengthUs);
    return { limit, remaining: Math.max(0, limit - used), reset: Math.ceil(gainsAt / 1_000_000) };
  };
}
