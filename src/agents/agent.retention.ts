import type { Sql } from '../database/database.types.js';
import { createRetention } from '../jobs/index.js';
import type { Retention, RetentionOptions } from '../jobs/index.js';
import {
  EXPIRED,
  FILES_OF_RUNS,
  FORGET_AGENTS,
  FORGET_KNOWLEDGE,
  FORGET_RUNS,
  ORPHANED_AGENT_FILES,
  DELETE_ORPHANED_MEMORIES,
} from './agent.queries.js';

interface OwnedFiles {
  orgId: string;
  ids: string[];
}

/** Deletes old finished runs with their steps and files, and the remains of deleted agents. */
export function createAgentRetention(options: RetentionOptions): Retention {
  const { database, removeFiles, retentionDays, logger } = options;
  const sql = database.system;
  return createRetention({
    what: 'runs',
    logger,
    async forgetSome() {
      const ids = (await sql.query<{ id: string }>(EXPIRED, [retentionDays])).map(({ id }) => id);
      if (ids.length === 0) {
        await removeLeftFiles(sql, removeFiles);
        await sql.query(DELETE_ORPHANED_MEMORIES);
        await sql.query(FORGET_AGENTS, [retentionDays]);
        return 0;
      }
      // Files are deleted first: if this process dies in between, the next sweep finds the run again.
      for (const files of await sql.query<OwnedFiles>(FILES_OF_RUNS, [ids]))
        await removeFiles(files.orgId, files.ids);
      const [row] = await sql.query<{ n: number }>(FORGET_RUNS, [ids]);
      return row?.n ?? 0;
    },
  });
}

async function removeLeftFiles(sql: Sql, removeFiles: RetentionOptions['removeFiles']): Promise<void> {
  for (const left of await sql.query<OwnedFiles & { knowledgeIds: string[] }>(ORPHANED_AGENT_FILES)) {
    await removeFiles(left.orgId, left.ids);
    await sql.query(FORGET_KNOWLEDGE, [left.knowledgeIds]);
  }
}
