import pg from 'pg';
import type { Logger } from 'pino';
import type { Sql, SqlValue } from './database.types.js';
import { isConnectionFault, unavailable } from './faults.js';
import { clientOptions, patiently } from './pool.js';
import type { Losses, Server } from './pool.js';

/**
 * A single connection for statements that one loop sends one after the other. It is made when first needed and again after a loss; a
 * statement during which it is lost answers 503.
 */
export function createDedicated(options: {
  server: Server;
  role: string;
  losses: Losses;
  logger: Logger;
}): Sql & { close(): Promise<void> } {
  const { server, role, losses, logger } = options;
  let current: Promise<pg.Client> | null = null;

  const open = async (): Promise<pg.Client> => {
    const client = new pg.Client(clientOptions(server, role));
    client.on('error', (error) => logger.debug({ err: error }, 'a dedicated database connection was lost'));
    await client.connect();
    return client;
  };
  const lose = (attempt: Promise<pg.Client>): void => {
    if (current !== attempt) return;
    current = null;
    losses.count += 1;
  };
  const connected = (): Promise<pg.Client> => {
    if (current !== null) return current;
    const attempt = patiently(server, open);
    current = attempt;
    attempt.then(
      (client) => ['error', 'end'].forEach((event) => client.once(event, () => lose(attempt))),
      () => lose(attempt),
    );
    return attempt;
  };
  return {
    async query<Row>(statement: string | { name: string; text: string }, values: SqlValue[] = []) {
      const attempt = connected();
      const client = await attempt;
      try {
        const config = typeof statement === 'string' ? { text: statement } : statement;
        return (await client.query({ ...config, values })).rows as Row[];
      } catch (error) {
        if (!isConnectionFault(error)) throw error;
        // Its own end may be heard of later than the next statement comes.
        lose(attempt);
        throw unavailable(error);
      }
    },
    async close() {
      const last = current;
      current = null;
      const client = await last?.catch(() => null);
      await client?.end();
    },
  };
}
