import type { Sql } from '../database/database.types.js';
import { createRetention } from '../jobs/index.js';
import type { Retention, RetentionOptions } from '../jobs/index.js';

const BATCH = 200;

const EXPIRED = {
  name: 'agent_runs_expired',
  text: `SELECT id FROM agent_runs WHERE completed_at < now() - $1 * interval '1 day' ORDER BY completed_at LIMIT ${BATCH}`,
};
const FILES_OF_RUNS = {
  name: 'agent_runs_expired_files',
  text: `SELECT org_id AS "orgId", array_agg(id) AS ids FROM files WHERE run_id = ANY ($1) GROUP BY org_id`,
};
/** A session goes with its last run; steps and events go with theirs. */
const FORGET_RUNS = {
  name: 'agent_runs_forget',
  text: `WITH gone AS (
      DELETE FROM agent_runs WHERE id = ANY ($1) AND completed_at IS NOT NULL RETURNING id, org_id, agent_id, session_id
    ), ended AS (
      DELETE FROM agent_sessions s USING gone g
      WHERE (s.org_id, s.agent_id, s.session_id) = (g.org_id, g.agent_id, g.session_id) AND NOT EXISTS (
        SELECT 1 FROM agent_runs r
        WHERE (r.org_id, r.agent_id, r.session_id) = (g.org_id, g.agent_id, g.session_id) AND r.id <> ALL ($1))
    )
    SELECT count(*)::int AS n FROM gone`,
};

/** An upload that raced its agent's deletion, or a deletion whose process died half-way. */
const LEFT_FILES = `SELECT f.org_id AS "orgId", array_agg(f.file_id) AS ids, array_agg(f.id) AS "knowledgeIds"
  FROM knowledge_files f JOIN agents a ON a.id = f.agent_id AND a.org_id = f.org_id AND a.deleted_at < now() - interval '1 minute'
  GROUP BY f.org_id LIMIT ${BATCH}`;
/** What a run that outlived its agent remembered. */
const LEFT_MEMORIES = `DELETE FROM agent_memories m USING agents a WHERE a.id = m.agent_id AND a.deleted_at IS NOT NULL`;
const FORGET_AGENTS = `DELETE FROM agents WHERE deleted_at < now() - $1 * interval '1 day'`;

interface OwnedFiles {
  orgId: string;
  ids: string[];
}

/** Forgets finished runs with their steps and files, and what deleted agents left behind. */
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
        await sql.query(LEFT_MEMORIES);
        await sql.query(FORGET_AGENTS, [retentionDays]);
        return 0;
      }
      // Files go first: should this process die between, the next sweep finds the run again.
      for (const files of await sql.query<OwnedFiles>(FILES_OF_RUNS, [ids]))
        await removeFiles(files.orgId, files.ids);
      const [row] = await sql.query<{ n: number }>(FORGET_RUNS, [ids]);
      return row?.n ?? 0;
    },
  });
}

async function removeLeftFiles(sql: Sql, removeFiles: RetentionOptions['removeFiles']): Promise<void> {
  for (const left of await sql.query<OwnedFiles & { knowledgeIds: string[] }>(LEFT_FILES)) {
    await removeFiles(left.orgId, left.ids);
    await sql.query('DELETE FROM knowledge_files WHERE id = ANY ($1)', [left.knowledgeIds]);
  }
}
