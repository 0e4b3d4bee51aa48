import type { Sql } from '../../database/database.types.js';
import type { Hold } from '../lease.worker.js';

const RENEW = { name: 'leases_renew', text: 'SELECT penstock_leases_renew($1, $2, $3, $4, $5) AS id' };
const RELEASE = { name: 'leases_release', text: 'SELECT penstock_leases_release($1, $2, $3, $4, $5)' };

/** Tables whose rows workers hold under leases. */
export type LeasedTable = 'jobs' | 'agent_runs' | 'responses';

/** The notification channel on which a table's workers learn of waiting rows. Requeued jobs have an event instead. */
const PENDING = { agent_runs: 'penstock_run_pending', responses: 'penstock_response_pending' };

export interface Leases {
  workerId: string;
  holds: Pick<Hold, 'id' | 'fence'>[];
}

const valuesOf = ({ workerId, holds }: Leases) => [
  workerId,
  holds.map(({ id }) => id),
  holds.map(({ fence }) => fence),
];

/** Renews leases. @returns the ids that the worker still holds; another worker may have taken the other rows */
export async function renewLeases(
  sql: Sql,
  table: LeasedTable,
  leases: Leases & { leaseMs: number },
): Promise<Set<string>> {
  const rows = await sql.query<{ id: string }>(RENEW, [table, ...valuesOf(leases), leases.leaseMs]);
  return new Set(rows.map(({ id }) => id));
}

/** Returns rows to the other workers, one of which continues from the stored state. */
export async function releaseLeases(sql: Sql, table: keyof typeof PENDING, leases: Leases): Promise<void> {
  if (leases.holds.length > 0) await sql.query(RELEASE, [table, PENDING[table], ...valuesOf(leases)]);
}
