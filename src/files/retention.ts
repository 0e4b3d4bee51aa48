import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import type { FileStore } from './store.types.js';
import { ALL_UNNEEDED } from './unneeded.js';

const BATCH = 500;
const INTERVAL_MS = 600_000;

/** Files of jobs, runs and agents' knowledge that are no more, or never came to be, an hour after they were stored; of those that failed, at once. */
const FORGOTTEN = `SELECT g.id, g.org_id, g.extension FROM (
  SELECT f.id, f.org_id, f.extension FROM files f
  WHERE f.job_id IS NOT NULL AND f.created_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = f.job_id)
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f
  WHERE f.run_id IS NOT NULL AND f.created_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM agent_runs r WHERE r.id = f.run_id)
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f
  WHERE f.job_id IS NULL AND f.run_id IS NULL AND f.created_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM knowledge_files k WHERE k.file_id = f.id)
  UNION ALL ${ALL_UNNEEDED}
  ) g WHERE g.id <> ALL ($1) LIMIT ${BATCH}`;

interface Forgotten {
  id: string;
  org_id: string;
  extension: string;
}

/** So many in a row that a store refuses: then it is the store that is at fault, and the next sweep asks again. */
const MAX_REFUSED = 50;

/** Removes what nothing refers to any more; what the store refuses stays for the next time. @returns how many files went */
export async function removeForgottenFiles(
  database: Database,
  store: FileStore,
  refused: (error: unknown, fileId: string) => void = () => undefined,
): Promise<number> {
  const kept: string[] = [];
  for (let removed = 0, inRow = 0; ;) {
    const rows = await database.system.query<Forgotten>(FORGOTTEN, [kept]);
    const gone: string[] = [];
    for (const row of rows) {
      if (inRow === MAX_REFUSED) break;
      try {
        // Bytes first: a row without bytes is found again, bytes without a row are not.
        await store.remove({ orgId: row.org_id, id: row.id, extension: row.extension });
        gone.push(row.id);
        inRow = 0;
      } catch (error) {
        kept.push(row.id);
        inRow++;
        refused(error, row.id);
      }
    }
    await database.system.query('DELETE FROM files WHERE id = ANY($1)', [gone]);
    removed += gone.length;
    if (rows.length < BATCH || inRow === MAX_REFUSED) return removed;
  }
}

/** Runs {@link removeForgottenFiles} now and then. @returns a function that stops it */
export function startFileRetention(options: {
  database: Database;
  store: FileStore;
  logger: Logger;
}): () => void {
  const sweep = () =>
    removeForgottenFiles(options.database, options.store, (error, fileId) =>
      options.logger.warn({ err: error, fileId }, 'a forgotten file could not be removed yet'),
    ).catch((error: unknown) => options.logger.error({ err: error }, 'forgotten files could not be removed'));
  const timer = setInterval(() => void sweep(), INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
