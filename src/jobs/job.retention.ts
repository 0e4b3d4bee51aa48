import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { filesOf, findExpired, forgetJobs } from './moves/expire.js';

const BATCH = 200;
const EVERY_MS = 600_000;

/** Forgets finished jobs, their events and their files after their time (decisions.md 6, "Jobs"). */
export interface JobRetention {
  /** Begins to sweep, at once and then every ten minutes. */
  start(): void;
  /** One sweep; answers how many jobs were forgotten. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

/** @param options `removeFiles` removes rows and bytes (FileService.remove). */
export function createJobRetention(options: {
  database: Pick<Database, 'system'>;
  removeFiles: (orgId: string, fileIds: string[]) => Promise<void>;
  retentionDays: number;
  logger: Logger;
}): JobRetention {
  const { database, removeFiles, retentionDays, logger } = options;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  let running: Promise<unknown> = Promise.resolve();

  /** Files go first: should this process die between, the next sweep finds the job again. */
  async function sweep(): Promise<number> {
    let forgotten = 0;
    while (!closed) {
      const expired = await findExpired(database.system, retentionDays, BATCH);
      if (expired.length === 0) break;
      const ids = expired.map(({ id }) => id);
      for (const files of await filesOf(database.system, ids)) await removeFiles(files.orgId, files.ids);
      forgotten += await forgetJobs(database.system, ids);
    }
    return forgotten;
  }

  const tick = (): void => {
    running = sweep().then(
      (count) => count > 0 && logger.info({ count }, 'finished jobs were forgotten'),
      (error: unknown) =>
        logger.warn({ err: error }, 'forgetting finished jobs failed; it is tried again later'),
    );
  };
  return {
    start() {
      tick();
      timer = setInterval(tick, EVERY_MS);
    },
    sweep,
    async close() {
      closed = true;
      if (timer) clearInterval(timer);
      await running;
    },
  };
}
