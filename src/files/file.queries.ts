/** Statements of stored files that check limits, bind the store or find files to remove; all else goes through the entity (file.entity.ts). */

/** Inserts a file's row if the organisation's storage limit allows it. The check also holds for simultaneous inserts. */
export const SAVE = 'SELECT penstock_file_save($1, jsonb_populate_record(NULL::files, $2::jsonb)) AS fits';

/** How much an organisation has stored; every call that stores something reads it. */
export const USE = {
  name: 'storage_use',
  text: `SELECT
      COALESCE(sum(bytes) FILTER (WHERE part = 0), 0)::float8 AS "fileBytes",
      COALESCE(sum(items) FILTER (WHERE part = 0), 0)::float8 AS files,
      COALESCE(sum(bytes) FILTER (WHERE part > 0), 0)::float8 AS "answerBytes",
      COALESCE(sum(items) FILTER (WHERE part > 0), 0)::float8 AS answers
    FROM stored_bytes WHERE org_id = $1`,
};

/** If several processes start for the first time at once, one binds the store to the installation and the others wait. */
export const BIND_STORE =
  'INSERT INTO file_store (installation_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING installation_id';

/**
 * Files of failed work: inputs and unfinished outputs of a job that failed, was cancelled or was never created, and attachments of such a run.
 * Files that a run's tools made are kept, since they were paid for; so are files that something else refers to.
 */
const REFERRED = 'EXISTS (SELECT 1 FROM knowledge_files k WHERE k.file_id = f.id)';
const ATTACHED = `r.attachments @> jsonb_build_array(jsonb_build_object('fileId', f.id))`;
const OVER = `('failed', 'cancelled')`;

/** The files of one failed job or run, whose id is `$1`. */
export const FILES_OF_FAILED_WORK = `
  SELECT f.id FROM files f LEFT JOIN jobs j ON j.id = f.job_id
    WHERE f.job_id = $1 AND (j.id IS NULL OR j.status IN ${OVER}) AND NOT ${REFERRED}
  UNION ALL SELECT f.id FROM files f LEFT JOIN agent_runs r ON r.id = f.run_id
    WHERE f.run_id = $1 AND (r.id IS NULL OR (r.status IN ${OVER} AND ${ATTACHED})) AND NOT ${REFERRED}`;

/** The files of all failed work, for those that a crashed process left. */
const FILES_OF_ALL_FAILED_WORK = `
  SELECT f.id, f.org_id, f.extension FROM files f JOIN jobs j ON j.id = f.job_id
    WHERE j.status IN ${OVER} AND NOT ${REFERRED}
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f JOIN agent_runs r ON r.id = f.run_id
    WHERE r.status IN ${OVER} AND ${ATTACHED} AND NOT ${REFERRED}`;

/** Most rows that {@link ORPHANED_FILES} returns. */
export const BATCH = 500;

/**
 * Files of jobs, runs and knowledge that no longer exist or were never created, one hour after they were stored; files of failed work and uploads
 * whose time is over, immediately.
 */
export const ORPHANED_FILES = `SELECT g.id, g.org_id, g.extension FROM (
  SELECT f.id, f.org_id, f.extension FROM files f
  WHERE f.job_id IS NOT NULL AND f.created_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = f.job_id)
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f
  WHERE f.run_id IS NOT NULL AND f.created_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM agent_runs r WHERE r.id = f.run_id)
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f
  WHERE f.job_id IS NULL AND f.run_id IS NULL AND f.created_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM knowledge_files k WHERE k.file_id = f.id)
    AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.file_id = f.id)
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f JOIN uploads u ON u.file_id = f.id WHERE u.expires_at < now()
  UNION ALL ${FILES_OF_ALL_FAILED_WORK}
  ) g WHERE g.id <> ALL ($1) LIMIT ${BATCH}`;
