import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import type { FileStore } from './store.types.js';

const BATCH = 500;
const INTERVAL_MS = 600_000;

/** Files of jobs, runs and agents' knowledge that are no more, or never came to be, an hour after they were stored. */
const FORGOTTEN = `SELECT f.id, f.org_id, f.extension FROM files f
  WHERE f.job_id IS NOT NULL AND f.created_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = f.job_id)
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f
  WHERE f.run_id IS NOT NULL AND f.created_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM agent_runs r WHERE r.id = f.run_id)
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f
  WHERE f.job_id IS NULL AND f.run_id IS NULL AND f.created_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM knowledge_files k WHERE k.file_id = f.id)
  LIMIT ${BATCH}`;

/** Removes what nothing refers to any more. @returns how many files went */
export async function removeForgottenFiles(database: Database, store: FileStore): Promise<number> {
  for (let removed = 0; ;) {
    const rows = await database.system.query<{ id: string; org_id: string; extension: string }>(FORGOTTEN);
    // Bytes first: a row without bytes is found again, bytes without a row are not.
    for (const row of rows) await store.remove({ orgId: row.org_id, id: row.id, extension: row.extension });
    await database.system.query('DELETE FROM files WHERE id = ANY($1)', [rows.map((row) => row.id)]);
    removed += rows.length;
    if (rows.length < BATCH) return removed;
  }
}

/** Runs {@link removeForgottenFiles} now and then. @returns a function that stops it */
export function startFileRetention(options: {
  database: Database;
  store: FileStore;
  logger: Logger;
}): () => void {
  const sweep = () =>
    removeForgottenFiles(options.database, options.store).catch((error: unknown) =>
      options.logger.error({ err: error }, 'forgotten files could not be removed'),
    );
  const timer = setInterval(() => void sweep(), INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
