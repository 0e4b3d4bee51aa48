import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { FileEntity } from './file.entity.js';
import { BATCH, ORPHANED_FILES } from './file.queries.js';
import type { FileStore } from './store.types.js';
import { removeOrphanedParts } from './uploads/parts.js';

const INTERVAL_MS = 600_000;

interface Forgotten {
  id: string;
  org_id: string;
  extension: string;
}

/** After this many failures in a row the store itself is taken to be unavailable; the next sweep tries again. */
const MAX_REFUSED = 50;

/** Removes files that nothing refers to. Files that the store cannot delete are kept for the next sweep. @returns the number of removed files */
export async function removeOrphanedFiles(
  database: Database,
  store: FileStore,
  refused: (error: unknown, fileId: string) => void = () => undefined,
): Promise<number> {
  const kept: string[] = [];
  let removed = 0;
  for (let inRow = 0; ;) {
    const rows = await database.system.query<Forgotten>(ORPHANED_FILES, [kept]);
    const gone: string[] = [];
    for (const row of rows) {
      if (inRow === MAX_REFUSED) break;
      try {
        // The bytes first: a row without bytes is found by the next sweep, bytes without a row are not.
        await store.remove({ orgId: row.org_id, id: row.id, extension: row.extension });
        gone.push(row.id);
        inRow = 0;
      } catch (error) {
        kept.push(row.id);
        inRow++;
        refused(error, row.id);
      }
    }
    await database.allTenants((em) => em.nativeDelete(FileEntity, { id: { $in: gone } }));
    removed += gone.length;
    if (rows.length < BATCH || inRow === MAX_REFUSED) break;
  }
  await removeOrphanedParts(database, store, refused);
  return removed;
}

/** Runs {@link removeOrphanedFiles} at intervals. @returns a function that stops it */
export function startFileRetention(options: {
  database: Database;
  store: FileStore;
  logger: Logger;
}): () => void {
  const sweep = () =>
    removeOrphanedFiles(options.database, options.store, (error, fileId) =>
      options.logger.warn({ err: error, fileId }, 'an orphaned file could not be removed yet'),
    ).catch((error: unknown) => options.logger.error({ err: error }, 'orphaned files could not be removed'));
  const timer = setInterval(() => void sweep(), INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
