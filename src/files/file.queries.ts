/** Statements of stored files that are mechanisms; all else goes through their entity (file.entity.ts). */

/** A new file's row, where the organisation has room for it: of many at once no more are stored than fit. */
export const SAVE = 'SELECT penstock_file_save($1, jsonb_populate_record(NULL::files, $2::jsonb)) AS fits';

/** What an organisation has stored: asked for by every call that would store something. */
export const USE = {
  name: 'storage_use',
  text: `SELECT
      COALESCE(sum(bytes) FILTER (WHERE part = 0), 0)::float8 AS "fileBytes",
      COALESCE(sum(items) FILTER (WHERE part = 0), 0)::float8 AS files,
      COALESCE(sum(bytes) FILTER (WHERE part > 0), 0)::float8 AS "answerBytes",
      COALESCE(sum(items) FILTER (WHERE part > 0), 0)::float8 AS answers
    FROM stored_bytes WHERE org_id = $1`,
};

/** Of several first starts one binds the store to the installation; the others wait for it. */
export const BIND_STORE =
  'INSERT INTO file_store (installation_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING installation_id';

/**
 * Files of work that came to nothing: inputs and unfinished outputs of a job that failed, was cancelled or was never made, and what was attached
 * to such a run. What a run's tools made stays with its steps, which were paid for; so does what something else refers to.
 */
const REFERRED = 'EXISTS (SELECT 1 FROM knowledge_files k WHERE k.file_id = f.id)';
const ATTACHED = `r.attachments @> jsonb_build_array(jsonb_build_object('fileId', f.id))`;
const OVER = `('failed', 'cancelled')`;

/** Of one job or run, whose id is `$1`. */
export const FILES_OF_FAILED_WORK = `
  SELECT f.id FROM files f LEFT JOIN jobs j ON j.id = f.job_id
    WHERE f.job_id = $1 AND (j.id IS NULL OR j.status IN ${OVER}) AND NOT ${REFERRED}
  UNION ALL SELECT f.id FROM files f LEFT JOIN agent_runs r ON r.id = f.run_id
    WHERE f.run_id = $1 AND (r.id IS NULL OR (r.status IN ${OVER} AND ${ATTACHED})) AND NOT ${REFERRED}`;

/** Of all that has ended: what a process that died left. */
const FILES_OF_ALL_FAILED_WORK = `
  SELECT f.id, f.org_id, f.extension FROM files f JOIN jobs j ON j.id = f.job_id
    WHERE j.status IN ${OVER} AND NOT ${REFERRED}
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f JOIN agent_runs r ON r.id = f.run_id
    WHERE r.status IN ${OVER} AND ${ATTACHED} AND NOT ${REFERRED}`;

/** How many {@link ORPHANED_FILES} finds at once. */
export const BATCH = 500;

/** Files of jobs, runs and agents' knowledge that are no more, or never came to be, an hour after they were stored; of those that failed, at once. */
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
  UNION ALL ${FILES_OF_ALL_FAILED_WORK}
  ) g WHERE g.id <> ALL ($1) LIMIT ${BATCH}`;
