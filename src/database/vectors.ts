import type pg from 'pg';
import type { Logger } from 'pino';

/** Whether the server offers pgvector, and whether there is something to do. One look where there is not. */
const LOOK = `SELECT
    (SELECT installed_version FROM pg_available_extensions WHERE name = 'vector') AS installed,
    EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector') AS offered,
    EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('knowledge_chunks') AND attname = 'nearby' AND NOT attisdropped) AS used`;

/** halfvec (from pgvector 0.7 on) holds our small whole numbers exactly in half the space. */
const TYPE = `SELECT CASE WHEN to_regtype('halfvec') IS NULL THEN 'vector' ELSE 'halfvec' END AS type`;

/** Signed bytes, one for each feature, as pgvector's own type. */
const conversion = (type: string): string => `
  CREATE OR REPLACE FUNCTION penstock_nearby(embedding bytea) RETURNS ${type} LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_agg(CASE WHEN b > 127 THEN b - 256 ELSE b END ORDER BY n)::real[]::${type}
    FROM generate_series(0, octet_length(embedding) - 1) n, get_byte(embedding, n) b
  $$`;

/**
 * Where the server has pgvector and our role may use it, passages get a column of its type, which the database keeps by itself and
 * retrieval compares by. Without it nothing is missing: processes compare then (src/agents/knowledge/nearest.ts).
 */
export async function addVectors(client: pg.Client, logger: Logger): Promise<void> {
  const { rows } = await client.query<{ installed: string | null; offered: boolean; used: boolean }>(LOOK);
  const [state] = rows;
  if (state === undefined || !state.offered || state.used) return;
  try {
    await client.query('BEGIN');
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('penstock_vectors', 0))`);
    await client.query('CREATE EXTENSION IF NOT EXISTS vector');
    const type = (await client.query<{ type: string }>(TYPE)).rows[0]?.type ?? 'vector';
    await client.query(conversion(type));
    await client.query(`ALTER TABLE knowledge_chunks ADD COLUMN IF NOT EXISTS nearby ${type}(512)
      GENERATED ALWAYS AS (penstock_nearby(embedding)) STORED`);
    await client.query('COMMIT');
    logger.info({ type }, 'pgvector is used for knowledge');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    logger.info(
      { err: error },
      'the pgvector extension is installed but may not be used; passages are compared without it',
    );
  }
}
