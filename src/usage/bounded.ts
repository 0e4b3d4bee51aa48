import type { Database, Sql } from '../database/index.js';
import { invalid } from '../contract/errors.js';
import { FairSemaphore } from '../processes/index.js';
import { BEGIN_READING } from './usage.queries.js';

/** Readings of a process at once: a few of its connections. */
const READERS = 3;
const MAX_WAITING_PER_ORG = 100;

const CANCELLED = '57014';

export interface UsageReader {
  /**
   * Statements that see one state of the database, each for a few seconds at most, in fair shares of organisations: nobody's reading of years keeps
   * the connections from others.
   * @throws ApiError invalid_request where a statement took longer, unavailable where too many of the organisation wait
   */
  read<T>(orgId: string, work: (sql: Sql) => Promise<T>): Promise<T>;
}

export function createUsageReader(database: Pick<Database, 'transaction'>): UsageReader {
  const permits = new FairSemaphore({ permits: READERS, maxWaitingPerOrg: MAX_WAITING_PER_ORG });
  return {
    async read(orgId, work) {
      const permit = await permits.acquire(orgId);
      try {
        return await database.transaction(async (sql) => {
          await sql.query(BEGIN_READING);
          return await work(sql);
        });
      } catch (error) {
        if ((error as { code?: unknown }).code !== CANCELLED) throw error;
        throw invalid('That is too much to be read at once: choose a shorter time', 'since');
      } finally {
        permit.release();
      }
    },
  };
}
