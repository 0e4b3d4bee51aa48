import type { Database, DedicatedSql } from '../database/index.js';

/** A dedicated connection for one loop of statements. */
export type Connection = Pick<DedicatedSql, 'text' | 'ready' | 'close'>;

/** Opened at the first statement. */
export function lazyConnection(
  database: Pick<Database, 'dedicated'>,
  settings: Record<string, string> = {},
): Connection {
  let opening: Promise<Connection> | null = null;
  let opened: Connection | null = null;
  const open = async (): Promise<Connection> => (opened ??= await (opening ??= database.dedicated(settings)));
  return {
    text: async (statement, values, next) => (opened ?? (await open())).text(statement, values, next),
    ready: async () => (opened ?? (await open())).ready(),
    async close() {
      await (await opening)?.close();
    },
  };
}
