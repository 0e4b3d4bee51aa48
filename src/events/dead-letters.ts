import { recordChange } from '../audit/index.js';
import type { Sql, Database } from '../database/index.js';
import { LIST_DEAD_LETTERS, REPLAY_DEAD_LETTERS } from './event.queries.js';

/** A row of `dead_letters`: an event that a consumer could not handle, in an installation without Kafka. */
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
  return await sql.query<TableLetter>(LIST_DEAD_LETTERS, [limit]);
}

/** Puts letters back into the outbox, in their order; consumers deduplicate by event id. @returns how many */
export async function replayDeadLetters(
  database: Pick<Database, 'transaction'>,
  ids: string[] | null,
): Promise<number> {
  return await database.transaction(async (sql) => {
    const rows = await sql.query(REPLAY_DEAD_LETTERS, [ids]);
    if (rows.length > 0) await recordReplay(sql, rows.length);
    return rows.length;
  });
}

/** Dead letters belong to the installation: the audit log of no organisation shows their replay. */
export async function recordReplay(sql: Sql, letters: number): Promise<void> {
  const after = { letters };
  await recordChange(sql, { orgId: null, action: 'dead_letters_replayed', subject: { id: null }, after });
}
