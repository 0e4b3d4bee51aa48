/**
 * Files of work that came to nothing: inputs and unfinished outputs of a job that failed, was cancelled or was never made, and what was attached
 * to such a run. What a run's tools made stays with its steps, which were paid for; so does what something else refers to.
 */
const REFERRED = 'EXISTS (SELECT 1 FROM knowledge_files k WHERE k.file_id = f.id)';
const ATTACHED = `r.attachments @> jsonb_build_array(jsonb_build_object('fileId', f.id))`;
const OVER = `('failed', 'cancelled')`;

/** Of one job or run, whose id is `$1`. */
export const UNNEEDED = `
  SELECT f.id FROM files f LEFT JOIN jobs j ON j.id = f.job_id
    WHERE f.job_id = $1 AND (j.id IS NULL OR j.status IN ${OVER}) AND NOT ${REFERRED}
  UNION ALL SELECT f.id FROM files f LEFT JOIN agent_runs r ON r.id = f.run_id
    WHERE f.run_id = $1 AND (r.id IS NULL OR (r.status IN ${OVER} AND ${ATTACHED})) AND NOT ${REFERRED}`;

/** Of all that has ended: what a process that died left. */
export const ALL_UNNEEDED = `
  SELECT f.id, f.org_id, f.extension FROM files f JOIN jobs j ON j.id = f.job_id
    WHERE j.status IN ${OVER} AND NOT ${REFERRED}
  UNION ALL SELECT f.id, f.org_id, f.extension FROM files f JOIN agent_runs r ON r.id = f.run_id
    WHERE r.status IN ${OVER} AND ${ATTACHED} AND NOT ${REFERRED}`;
