import type { Database } from '../../database/database.types.js';
import { FORGET_COUNTERS } from './budget.queries.js';

const BATCH = 1000;

/** Forgets a portion of the counters of periods that are over and hold nothing. @returns how many */
export async function forgetCounters({ system }: Pick<Database, 'system'>): Promise<number> {
  const [row] = await system.query<{ forgotten: number }>(FORGET_COUNTERS, [BATCH]);
  return row?.forgotten ?? 0;
}
