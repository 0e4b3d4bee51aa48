import { recordChange } from '../audit/index.js';
import type { Sql, Database } from '../database/index.js';
import { LIST_DEAD_LETTERS, REPLAY_DEAD_LETTERS } from './event.queries.js';

/** A row of `dead_letters`: an event that a consumer could not handle, in an installation without Kafka. */
export interface TableDeadLetter {
  /** bigint as text. */
  id: string;
  topic: string;
  key: string;
  group: string;
  error: string;
  event: Record<string, unknown>;
  createdAt: Date;
}

export async function listDeadLetters(sql: Sql, limit: number): Promise<TableDeadLetter[]> {
  return await sql.query<TableDeadLetter>(LIST_DEAD_LETTERS, [limit]);
}

/** Letters that were sent again. */
export interface Replayed<Letter> {
  replayed: number;
  /** The first of them. */
  letters: Letter[];
}

/** Puts letters back into the outbox, in their order; consumers deduplicate by event id. @param limit at most so many letters are returned */
export async function replayDeadLetters(
  database: Pick<Database, 'transaction'>,
  ids: string[] | null,
  limit: number,
): Promise<Replayed<TableDeadLetter>> {
  return await database.transaction(async (sql) => {
    const rows = await sql.query<TableDeadLetter & { replayed: number }>(REPLAY_DEAD_LETTERS, [ids, limit]);
    const replayed = rows[0]?.replayed ?? 0;
    if (replayed > 0) await recordReplay(sql, replayed);
    return { replayed, letters: rows };
  });
}

/** Dead letters belong to the installation: the audit log of no organisation shows their replay. */
export async function recordReplay(sql: Sql, letters: number): Promise<void> {
  const after = { letters };
  await recordChange(sql, { orgId: null, action: 'dead_letters_replayed', subject: { id: null }, after });
}
