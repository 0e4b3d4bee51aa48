import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { filesOf, findExpired, forgetJobs } from './moves/expire.queries.js';
import { createRetention } from './retention.js';
import type { Retention } from './retention.js';

const BATCH = 200;

/** Which finished jobs or runs are deleted, and after how many days. */
export interface RetentionOptions {
  database: Pick<Database, 'system'>;
  /** Removes rows and bytes (FileService.remove). */
  removeFiles: (orgId: string, fileIds: string[]) => Promise<void>;
  retentionDays: number;
  logger: Logger;
}

/** Forgets finished jobs, their events and their files. */
export function createJobRetention(options: RetentionOptions): Retention {
  const { database, removeFiles, retentionDays, logger } = options;
  return createRetention({
    what: 'jobs',
    logger,
    async forgetSome() {
      const ids = (await findExpired(database.system, retentionDays, BATCH)).map(({ id }) => id);
      if (ids.length === 0) return 0;
      // Files are deleted first: after a crash in between, the next sweep finds the job again.
      for (const files of await filesOf(database.system, ids)) await removeFiles(files.orgId, files.ids);
      return await forgetJobs(database.system, ids);
    },
  });
}
