import type { Sql } from '../../database/database.types.js';

const BOUND = {
  name: 'penstock_operation_bound_in_usd',
  text: 'SELECT penstock_bound_in_usd($1) AS bound',
};

/** Whether a hard budget in USD counts a job's operation. Called only if the next fallback has no price. */
export async function isBoundInUsd(sql: Sql, operationId: string): Promise<boolean> {
  const [row] = await sql.query<{ bound: boolean }>(BOUND, [operationId]);
  return row?.bound === true;
}
