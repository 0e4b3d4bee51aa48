/** Retrieval: full text and vectors. */

/** The question is parsed once for each term, not for each passage (here and below). */
export const COUNTS = {
  name: 'knowledge_word_counts',
  text: `SELECT t.nth::int - 1 AS nth, (
      SELECT count(*)::int FROM (
        SELECT 1 FROM knowledge_chunks c
        WHERE c.org_id = $1 AND c.agent_id = $2 AND c.search @@ t.wanted LIMIT $4
      ) found
    ) AS passages FROM (
      SELECT nth, to_tsquery('simple', term) AS wanted FROM unnest($3::text[]) WITH ORDINALITY u (term, nth) OFFSET 0
    ) t`,
};

export const RANKED = {
  name: 'knowledge_full_text',
  text: `SELECT c.file_id AS "fileId", c.position FROM (
      SELECT file_id, position, search FROM knowledge_chunks
      WHERE org_id = $1 AND agent_id = $2 AND search @@ (SELECT to_tsquery('simple', $3)) LIMIT $5
    ) c JOIN knowledge_files f ON f.id = c.file_id AND f.status = 'completed'
    ORDER BY ts_rank_cd(c.search, (SELECT to_tsquery('simple', $4)), 1) DESC, c.file_id, c.position LIMIT $6`,
};

export const VECTORS = `SELECT c.file_id, c.position, c.embedding FROM knowledge_chunks c
  JOIN knowledge_files f ON f.id = c.file_id AND f.status = 'completed'
  WHERE c.org_id = $1 AND c.agent_id = $2 AND c.embedding IS NOT NULL`;

export const VERSIONS = {
  name: 'knowledge_versions',
  text: `SELECT q.nth::int AS nth, v.version
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY q (org_id, agent_id, nth)
    CROSS JOIN LATERAL (
      SELECT count(*) || ':' || sum(chunk_count) || ':' || max(extract(epoch FROM updated_at)) AS version
      FROM knowledge_files f WHERE f.org_id = q.org_id AND f.agent_id = q.agent_id AND f.status = 'completed'
    ) v WHERE v.version IS NOT NULL`,
};

export const TEXTS = {
  name: 'knowledge_texts',
  // Looks up each row by its key, even if the planner has no statistics of a new table.
  text: `SELECT k.file_id, k.position, c.text, f.filename FROM unnest($3::text[], $4::int[]) k (file_id, position)
    JOIN knowledge_files f ON f.id = k.file_id AND f.status = 'completed'
    CROSS JOIN LATERAL (
      SELECT text FROM knowledge_chunks p
      WHERE p.file_id = k.file_id AND p.position = k.position AND p.org_id = $1 AND p.agent_id = $2 LIMIT 1
    ) c`,
};

/** The type of the column that pgvector searches (src/database/vectors.ts); no row without it. */
export const VECTOR_TYPE = `SELECT format_type(atttypid, NULL) AS type FROM pg_attribute
  WHERE attrelid = 'knowledge_chunks'::regclass AND attname = 'nearby' AND NOT attisdropped`;

/** By pgvector, whose column is of that type. */
export const nearest = (type: string) => ({
  name: 'knowledge_nearest',
  text: `SELECT c.file_id AS "fileId", c.position FROM knowledge_chunks c
      JOIN knowledge_files f ON f.id = c.file_id AND f.status = 'completed'
      WHERE c.org_id = $1 AND c.agent_id = $2 AND c.nearby <=> $3::${type} < 0.95
      ORDER BY c.nearby <=> $3::${type}, c.file_id, c.position LIMIT $4`,
});
