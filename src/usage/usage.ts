import { recordChange } from '../audit/index.js';
import type { Database } from '../database/index.js';
import { createUsageReader } from './bounded.js';
import { exportRecords } from './export.js';
import { readLastHour, sumOverall } from './overall.js';
import { countRecords, listRecords, recordsById } from './records.js';
import { reconcile } from './reconcile.js';
import { summarize } from './summary.js';
import { REBUILD, WITHOUT_LIMIT } from './usage.queries.js';
import type { Usage } from './usage.types.js';

export function createUsage({ database }: { database: Pick<Database, 'transaction'> }): Usage {
  const reader = createUsageReader(database);
  return {
    records: (query) => listRecords(reader, query),
    recordsById: (orgId, ids) => recordsById(reader, orgId, ids),
    count: (orgId, filter) => countRecords(reader, orgId, filter),
    summary: (query) => summarize(reader, query),
    overall: (query) => sumOverall(reader, query),
    lastHour: () => readLastHour(reader),
    export: (query) => exportRecords(reader, query),
    reconcile: (orgId, invoice) => reconcile(database, orgId, invoice),
    rebuild: (orgId) =>
      database.transaction(async (sql) => {
        await sql.query(WITHOUT_LIMIT);
        const [row] = await sql.query<{ count: number }>(REBUILD, [orgId]);
        const folded = row?.count ?? 0;
        await recordChange(sql, { orgId, action: 'usage_rebuilt', subject: { id: null }, after: { folded } });
        return folded;
      }),
  };
}
