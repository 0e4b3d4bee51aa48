import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { FileEntity } from './file.entity.js';
import { BATCH, ORPHANED_FILES } from './file.queries.js';
import type { FileStore } from './store.types.js';

const INTERVAL_MS = 600_000;

interface Forgotten {
  id: string;
  org_id: string;
  extension: string;
}

/** So many in a row that a store refuses: then it is the store that is at fault, and the next sweep asks again. */
const MAX_REFUSED = 50;

/** Removes what nothing refers to any more; what the store refuses stays for the next time. @returns how many files went */
export async function removeOrphanedFiles(
  database: Database,
  store: FileStore,
  refused: (error: unknown, fileId: string) => void = () => undefined,
): Promise<number> {
  const kept: string[] = [];
  for (let removed = 0, inRow = 0; ;) {
    const rows = await database.system.query<Forgotten>(ORPHANED_FILES, [kept]);
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
    await database.allTenants((em) => em.nativeDelete(FileEntity, { id: { $in: gone } }));
    removed += gone.length;
    if (rows.length < BATCH || inRow === MAX_REFUSED) return removed;
  }
}

/** Runs {@link removeOrphanedFiles} now and then. @returns a function that stops it */
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
