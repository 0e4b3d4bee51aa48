import type { Database } from '../database/index.js';
import type { Metering } from './metering.types.js';
import { zeroCostOutcome } from './outcome.js';
import { SETTLED } from './metering.queries.js';

/**
 * Finds how an operation was settled: settling it again changes nothing and returns the first result. Since its answer is then given to a caller,
 * the charge can no longer be reversed (`penstock_take_back`).
 */
export function createPastSettlements(
  { system }: Pick<Database, 'system'>,
  { settle }: Pick<Metering, 'settle'>,
): Metering['settledBefore'] {
  return async (operationId) => {
    const rows = await system.query(SETTLED, [operationId]);
    return rows.length === 0
      ? null
      : await settle(operationId, { amounts: {}, outcome: zeroCostOutcome('succeeded') });
  };
}
