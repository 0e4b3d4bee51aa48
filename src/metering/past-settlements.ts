import type { Database } from '../database/index.js';
import type { Metering } from './metering.types.js';
import { SETTLED } from './metering.queries.js';

/**
 * How operations of the past were settled: the settlement of one that is settled says how, and changes nothing. What is told of here is
 * given to somebody: the charge is not taken back any more (`penstock_take_back`).
 */
export function createPastSettlements(
  { system }: Pick<Database, 'system'>,
  { settle }: Pick<Metering, 'settle'>,
): Metering['settledBefore'] {
  return async (operationId) => {
    const rows = await system.query(SETTLED, [operationId]);
    return rows.length === 0 ? null : await settle(operationId, {});
  };
}
