import type { RetentionOptions } from '../../jobs/index.js';
import { createRetention } from '../../jobs/index.js';
import type { Retention } from '../../jobs/index.js';

const BATCH = 200;

const FORGET = {
  name: 'responses_forget',
  text: `WITH gone AS (
      DELETE FROM responses WHERE id IN (
        SELECT id FROM responses WHERE created_at < now() - $1 * interval '1 day' ORDER BY created_at LIMIT ${BATCH})
      RETURNING id
    ) SELECT count(*)::int AS n FROM gone`,
};

/** Forgets kept responses after their time. */
export function createResponseRetention({ database, retentionDays, logger }: RetentionOptions): Retention {
  return createRetention({
    what: 'responses',
    logger,
    async forgetSome() {
      const [row] = await database.system.query<{ n: number }>(FORGET, [retentionDays]);
      return row?.n ?? 0;
    },
  });
}
