import type { Database, Sql } from '../database/index.js';
import { invalid } from '../contract/errors.js';
import { BEGIN_READING } from './usage.queries.js';

const CANCELLED = '57014';

/**
 * Statements that see one state of the database, each for a few seconds at most, so that nobody's reading of years keeps a connection from others.
 * @throws ApiError invalid_request where one took longer
 */
export async function readUsage<T>(
  database: Pick<Database, 'transaction'>,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  try {
    return await database.transaction(async (sql) => {
      await sql.query(BEGIN_READING);
      return await work(sql);
    });
  } catch (error) {
    if ((error as { code?: unknown }).code !== CANCELLED) throw error;
    throw invalid('That is too much to be read at once: choose a shorter time', 'since');
  }
}
