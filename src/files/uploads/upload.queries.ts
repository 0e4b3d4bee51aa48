/** Statements of uploads: each decides by what it finds when it runs between PUTs of the same part, in this process and others. */

/** Begins an upload whose file's row stands already. A day later it is forgotten. @returns when, in Unix seconds */
export const BEGIN = `INSERT INTO uploads (file_id, org_id, purpose, expires_at) VALUES ($1, $2, $3, now() + interval '24 hours')
  RETURNING ceil(extract(epoch FROM expires_at))::float8 AS expires`;

/** An upload that was made before, for a retry of what made it. */
export const AGAIN = `SELECT f.id, f.content_type AS "contentType", f.size_bytes::float8 AS "sizeBytes", u.purpose,
    ceil(extract(epoch FROM u.expires_at))::float8 AS expires
  FROM uploads u JOIN files f ON f.id = u.file_id WHERE u.file_id = $1 AND u.expires_at > now()`;

/** How far an upload is. */
export const POSITION = `SELECT f.id, f.org_id AS "orgId", f.extension, f.content_type AS "contentType",
    f.size_bytes::float8 AS "sizeBytes", u.received::float8 AS received, u.parts, u.finished_at IS NOT NULL AS finished
  FROM uploads u JOIN files f ON f.id = u.file_id WHERE u.file_id = $1 AND u.expires_at > now()`;

/** A part that is about to be stored. */
export const ADD_PART =
  'INSERT INTO upload_parts (id, org_id, file_id, starts, size_bytes) VALUES ($1, $2, $3, $4, $5)';

/** A stored part becomes the file's if it follows what is there; of parts that came at once, one does. */
export const TAKE_PART = `WITH moved AS (
    UPDATE uploads u SET received = u.received + p.size_bytes, parts = u.parts + 1
    FROM upload_parts p WHERE p.id = $1 AND NOT p.taken AND u.file_id = p.file_id AND u.received = p.starts
      AND u.finished_at IS NULL AND u.expires_at > now()
    RETURNING u.file_id)
  UPDATE upload_parts SET taken = true WHERE id = $1 AND EXISTS (SELECT 1 FROM moved) RETURNING id`;

export const TAKEN_PARTS = 'SELECT id FROM upload_parts WHERE file_id = $1 AND taken ORDER BY starts';

export const PARTS_OF = 'SELECT id FROM upload_parts WHERE file_id = $1';

/** The file is whole, and is kept as long as jobs keep their inputs (`$2` days); for knowledge, which keeps a copy, a day. */
export const FINISH = `UPDATE uploads SET finished_at = now(),
    expires_at = now() + CASE purpose WHEN 'input' THEN make_interval(days => $2) ELSE interval '24 hours' END
  WHERE file_id = $1 AND finished_at IS NULL`;

export const FORGET_PARTS = 'DELETE FROM upload_parts WHERE id = ANY ($1)';

/** A whole file for a purpose. */
export const UPLOADED = `SELECT f.content_type, f.size_bytes, f.extension FROM uploads u JOIN files f ON f.id = u.file_id
  WHERE u.file_id = $1 AND u.purpose = $2 AND u.finished_at IS NOT NULL AND u.expires_at > now()`;

/** Most rows that {@link ORPHANED_PARTS} returns. */
export const ORPHANED_PARTS_LIMIT = 500;

/** Parts of uploads that are gone; those of whole files an hour later, because another process may still be reading them. */
export const ORPHANED_PARTS = `SELECT p.id, p.org_id FROM upload_parts p LEFT JOIN uploads u ON u.file_id = p.file_id
  WHERE (u.file_id IS NULL OR (u.finished_at < now() - interval '1 hour')) AND p.id <> ALL ($1) LIMIT ${ORPHANED_PARTS_LIMIT}`;
