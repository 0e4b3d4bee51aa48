import type { Database } from '../database/index.js';
import type { Metering } from './metering.types.js';

const SETTLED = {
  name: 'penstock_settled',
  text: `SELECT FROM usage_ledger WHERE operation_id = $1 AND state = 'settled'`,
};

/** How operations of the past were settled: the settlement of one that is settled says how, and changes nothing. */
export function createLookBack(
  { system }: Pick<Database, 'system'>,
  { settle }: Pick<Metering, 'settle'>,
): Metering['settledBefore'] {
  return async (operationId) => {
    const rows = await system.query(SETTLED, [operationId]);
    return rows.length === 0 ? null : await settle(operationId, {});
  };
}
