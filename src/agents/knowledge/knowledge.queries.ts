/**
 * A finished one takes its passages along, where they are no more than `$6`: their index is written with them, which takes as long as to read
 * the file. One that has more, or is still being read, is read again for the copy. Nothing where it was deleted meanwhile.
 */
export const COPY = `WITH source AS (
    SELECT *, status = 'processing' OR (status = 'completed' AND chunk_count > $6) AS again
    FROM knowledge_files WHERE id = $1 AND org_id = $2
  ), made AS (
    INSERT INTO knowledge_files (id, org_id, agent_id, file_id, filename, content_type, size_bytes, status, error_message, chunk_count)
    SELECT $3, org_id, $4, $5, filename, content_type, size_bytes,
      CASE WHEN again THEN 'pending' ELSE status END, error_message, CASE WHEN again THEN 0 ELSE chunk_count END
    FROM source RETURNING id, chunk_count
  ), copied AS (
    INSERT INTO knowledge_chunks (file_id, org_id, agent_id, position, text, embedding)
    SELECT made.id, c.org_id, $4, c.position, c.text, c.embedding
    FROM made, knowledge_chunks c WHERE c.file_id = $1 AND made.chunk_count > 0
  )
  SELECT chunk_count AS passages FROM made`;

/** Wakes the readers. */
export const NOTIFY = `SELECT pg_notify('penstock_knowledge', $1)`;

/** Locks the uploads to one agent, so that the plan's limit holds. */
export const LOCK_UPLOADS = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 7309))';

/** Attempts before a file whose worker died each time is failed. */
const MAX_ATTEMPTS = 3;

/** Pending, or claimed by a worker whose lease expired. */
const OPEN = `(f.status = 'pending' OR (f.status = 'processing' AND f.lease_until < clock_timestamp() AND f.attempt < ${MAX_ATTEMPTS}))`;

/** More candidates than workers that claim at the same time, because those lock some of them. */
const CANDIDATES = 100;

/** Claimed by a worker. */
const WORKED = `(f.status = 'processing' AND f.lease_until >= clock_timestamp())`;

/**
 * Takes one waiting file, in fair shares: each counts as the first, second, … of its organisation, those that are being read included, and the
 * first of each come before the second of anybody; of equals, the one of the organisation that was served longest ago. So nobody's pile keeps
 * the others waiting, and workers that ask at the same moment take files of different ones. `$3`: only of organisations of which none is
 * being read. Turns are kept where those of jobs are: they outlive the files, and are found whatever an organisation has of them.
 *
 * The fence guards every later write of this attempt. The file is chosen in a CTE, which is run once: a plan may run a subquery again for each
 * row of the table, and each time it skips what this statement holds and takes the next.
 */
export const CLAIM = {
  name: 'knowledge_claim',
  text: `WITH worked AS MATERIALIZED (
      SELECT f.org_id, count(*) AS files FROM knowledge_files f WHERE ${WORKED} GROUP BY f.org_id
    ), waiting AS (
      SELECT f.id, f.org_id, f.created_at,
        COALESCE(w.files, 0) + row_number() OVER (PARTITION BY f.org_id ORDER BY f.created_at, f.id) AS nth
      FROM knowledge_files f LEFT JOIN worked w ON w.org_id = f.org_id WHERE ${OPEN} AND (NOT $3::boolean OR w.files IS NULL)
    ), candidates AS MATERIALIZED (
      SELECT w.id, w.created_at, w.nth, t.served
      FROM waiting w LEFT JOIN job_turns t ON t.tool = 'knowledge' AND t.org_id = w.org_id
      WHERE NOT $3::boolean OR w.nth = 1
      ORDER BY w.nth, t.served NULLS FIRST, w.created_at, w.id LIMIT ${CANDIDATES}
    ), next AS MATERIALIZED (
      SELECT f.id, f.org_id FROM candidates c JOIN knowledge_files f ON f.id = c.id
      WHERE ${OPEN} ORDER BY c.nth, c.served NULLS FIRST, c.created_at, c.id LIMIT 1 FOR UPDATE OF f SKIP LOCKED
    ), turn AS (
      INSERT INTO job_turns (tool, org_id, served) SELECT 'knowledge', n.org_id, nextval('job_turn') FROM next n
      ON CONFLICT (tool, org_id) DO UPDATE SET served = GREATEST(job_turns.served, EXCLUDED.served)
    )
    UPDATE knowledge_files f SET status = 'processing', attempt = f.attempt + 1, fence = f.fence + 1, worker_id = $1,
      lease_until = clock_timestamp() + $2 * interval '1 ms', updated_at = clock_timestamp()
    FROM next WHERE f.id = next.id RETURNING f.id, f.org_id, f.agent_id, f.file_id, f.filename, f.content_type, f.fence`,
};

/** Which of the files still exist: the reading of a deleted file is stopped. */
export const SELECT_EXISTING = {
  name: 'knowledge_still',
  text: `SELECT id FROM knowledge_files WHERE id = ANY ($1) AND status = 'processing'`,
};

/** Whether the two statements below have rows to change. */
export const HAS_SWEEP_WORK = {
  name: 'knowledge_look',
  text: `SELECT 1 FROM knowledge_files
    WHERE status = 'pending' OR (status = 'processing' AND lease_until < clock_timestamp()) LIMIT 1`,
};

export const EXPIRE = `UPDATE knowledge_files SET status = 'failed', error_message = 'The file cannot be read', worker_id = NULL,
    lease_until = NULL, updated_at = clock_timestamp()
  WHERE status = 'processing' AND lease_until < clock_timestamp() AND attempt >= ${MAX_ATTEMPTS}`;

export const FAIL = `UPDATE knowledge_files SET status = 'failed', error_message = $3, worker_id = NULL, lease_until = NULL,
    updated_at = clock_timestamp()
  WHERE id = $1 AND fence = $2 AND status = 'processing'`;

export const RELEASE_CLAIMS = `UPDATE knowledge_files SET status = 'pending', attempt = attempt - 1, worker_id = NULL, lease_until = NULL
  WHERE id = $1 AND fence = $2 AND status = 'processing'`;

/** Ends an attempt whose fence still matches, and locks the file until all its passages are stored. */
export const COMPLETE = `UPDATE knowledge_files SET status = 'completed', chunk_count = 0, error_message = NULL, worker_id = NULL, lease_until = NULL
  WHERE id = $1 AND fence = $2 AND status = 'processing' RETURNING id`;

/** Adds passages (JSON from extract.child.ts, as bytes), numbered on from those that are stored. */
export const STORE = {
  name: 'knowledge_store',
  text: `WITH added AS (
      UPDATE knowledge_files SET chunk_count = chunk_count + json_array_length($2::json), updated_at = clock_timestamp()
      WHERE id = $1 RETURNING id, org_id, agent_id, chunk_count - json_array_length($2::json) AS before
    )
    INSERT INTO knowledge_chunks (file_id, org_id, agent_id, position, text, embedding)
    SELECT a.id, a.org_id, a.agent_id, (a.before + p.n - 1)::int, p.passage->>0, decode(p.passage->>1, 'base64')
    FROM added a, json_array_elements($2::json) WITH ORDINALITY AS p (passage, n)`,
};
