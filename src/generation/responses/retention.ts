import type { RetentionOptions } from '../../jobs/index.js';
import { createRetention } from '../../jobs/index.js';
import type { Retention } from '../../jobs/index.js';
import { FORGET } from './response.queries.js';

/** Deletes stored responses after the retention time. */
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
