import type { Logger } from 'pino';
import type { Database } from '../database/index.js';
import { DROP_MONTH, MAKE_MONTHS } from './metering.queries.js';

/** Creates the ledger's partitions for the coming months, and drops one partition whose retention time is over. @returns the number of dropped partitions */
export async function rotateLedgerPartitions(
  { system }: Pick<Database, 'system'>,
  { keep, logger }: { keep: number | null; logger: Logger },
): Promise<number> {
  await system.query(MAKE_MONTHS);
  if (keep === null) return 0;
  const [row] = await system.query<{ answer: 'none' | 'kept' | 'busy' | 'dropped' }>(DROP_MONTH, [keep]);
  if (row?.answer === 'kept')
    logger.debug('the oldest month of the ledger stays: it has open operations, or some are not folded yet');
  return row?.answer === 'dropped' ? 1 : 0;
}
