import pg from 'pg';
import type { Logger } from 'pino';
import type { Sql, SqlValue } from './database.types.js';
import { isConnectionFault, unavailable } from './faults.js';
import { clientOptions, patiently } from './pool.js';
import type { Server } from './pool.js';

/**
 * A single connection for statements that one loop sends one after the other. It is made when first needed and again after a loss; a
 * statement during which it is lost answers 503.
 */
export function createDedicated(options: {
  server: Server;
  role: string;
  logger: Logger;
}): Sql & { close(): Promise<void> } {
  const { server, role, logger } = options;
  let current: Promise<pg.Client> | null = null;

  const open = async (): Promise<pg.Client> => {
    const client = new pg.Client(clientOptions(server, role));
    client.on('error', (error) => logger.debug({ err: error }, 'a dedicated database connection was lost'));
    client.once('end', () => (current = null));
    await client.connect();
    return client;
  };
  const connected = (): Promise<pg.Client> => {
    if (current === null) {
      const attempt = patiently(server, open);
      attempt.catch(() => (current = null));
      current = attempt;
    }
    return current;
  };
  return {
    async query<Row>(statement: string | { name: string; text: string }, values: SqlValue[] = []) {
      const client = await connected();
      try {
        const config = typeof statement === 'string' ? { text: statement } : statement;
        return (await client.query({ ...config, values })).rows as Row[];
      } catch (error) {
        throw isConnectionFault(error) ? unavailable(error) : error;
      }
    },
    async close() {
      const client = await current?.catch(() => null);
      await client?.end();
    },
  };
}
