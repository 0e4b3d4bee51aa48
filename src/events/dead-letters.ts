import type { Sql, Database } from '../database/index.js';

/** A row of `dead_letters`: what a consumer of an installation without Kafka could not take. */
export interface TableLetter {
  /** bigint as text. */
  id: string;
  topic: string;
  key: string;
  group: string;
  error: string;
  event: Record<string, unknown>;
  createdAt: Date;
}

export async function listDeadLetters(sql: Sql, limit: number): Promise<TableLetter[]> {
  return await sql.query<TableLetter>(
    `SELECT id::text, topic, key, consumer_group AS "group", error, event, created_at AS "createdAt"
     FROM dead_letters ORDER BY id LIMIT $1`,
    [limit],
  );
}

/** Puts letters back into the outbox, in their order; consumers deduplicate by event id. @returns how many */
export async function replayDeadLetters(
  database: Pick<Database, 'transaction'>,
  ids: string[] | null,
): Promise<number> {
  return await database.transaction(async (sql) => {
    const rows = await sql.query(
      `WITH gone AS (
         DELETE FROM dead_letters WHERE $1::bigint[] IS NULL OR id = ANY ($1::bigint[]) RETURNING id, topic, key, event
       ), put AS (
         INSERT INTO outbox (topic, key, event) SELECT topic, key, event FROM gone ORDER BY id RETURNING 1
       ) SELECT pg_notify('penstock_outbox', '') FROM put`,
      [ids],
    );
    return rows.length;
  });
}
