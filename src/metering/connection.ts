import type { Database, DedicatedSql } from '../database/index.js';

/** A connection of its own for one loop of statements. */
export type Connection = Pick<DedicatedSql, 'text' | 'close'>;

/** Opened at the first statement. */
export function lazyConnection(
  database: Pick<Database, 'dedicated'>,
  settings: Record<string, string> = {},
): Connection {
  let opening: Promise<Connection> | null = null;
  let opened: Connection | null = null;
  return {
    async text(statement, values, next) {
      if (opened === null) {
        opening ??= database.dedicated(settings);
        opened = await opening;
      }
      return opened.text(statement, values, next);
    },
    async close() {
      await (await opening)?.close();
    },
  };
}
