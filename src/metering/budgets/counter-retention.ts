import type { Database } from '../../database/database.types.js';
import { FORGET_COUNTERS } from './budget.queries.js';

const BATCH = 1000;

/** Deletes some counters of past periods that have no reservation. @returns their number */
export async function forgetCounters({ system }: Pick<Database, 'system'>): Promise<number> {
  const [row] = await system.query<{ forgotten: number }>(FORGET_COUNTERS, [BATCH]);
  return row?.forgotten ?? 0;
}
