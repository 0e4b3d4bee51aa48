import type { Database, Sql } from '../database/index.js';

/** A connection of its own for one loop of statements. */
export interface Connection extends Sql {
  close(): Promise<void>;
}

/** Opened at the first statement. */
export function lazyConnection(database: Pick<Database, 'dedicated'>): Connection {
  let opened: Promise<Connection> | null = null;
  return {
    async query(statement, values) {
      opened ??= database.dedicated();
      return (await opened).query(statement, values);
    },
    async close() {
      await (await opened)?.close();
    },
  };
}
