import pg from 'pg';
import type { Logger } from 'pino';
import type { DedicatedSql, SqlValue, Statement } from './database.types.js';
import { queryEarly } from './early-rows.js';
import { isConnectionFault, unavailable } from './faults.js';
import { clientOptions, patiently } from './pool.js';
import type { Losses, Server, Settings } from './pool.js';
import type { Silence } from './silence.js';
import { queryText } from './text-query.js';

interface DedicatedOptions {
  server: Server;
  role: string;
  losses: Losses;
  silence: Silence;
  logger: Logger;
  settings?: Settings;
}

/** Lends the one connection, made when first needed and again after a loss. */
function createHolder({ server, role, losses, silence, logger, settings }: DedicatedOptions) {
  let current: Promise<pg.Client> | null = null;

  const open = async (): Promise<pg.Client> => {
    const client = new pg.Client(clientOptions(server, role, settings));
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
    connected,
    async use<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
      const attempt = connected();
      const client = await attempt;
      const awaited = silence.begin(client);
      let isAnswered = true;
      try {
        return await work(client);
      } catch (error) {
        if (!isConnectionFault(error)) throw error;
        isAnswered = false;
        // Its own end may be heard of later than the next statement comes; one that still stands has no other user.
        lose(attempt);
        client.end().catch(() => undefined);
        throw unavailable(error);
      } finally {
        silence.end(awaited, isAnswered);
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

/**
 * A single connection for statements that one loop sends one after the other. It is made when first needed and again after a loss; a
 * statement during which it is lost answers 503.
 */
export function createDedicated(options: DedicatedOptions): DedicatedSql {
  const { connected, use, close } = createHolder(options);
  return {
    query: <Row>(statement: string | Statement, values: SqlValue[] = []) =>
      use(async (client) => {
        const config = typeof statement === 'string' ? { text: statement } : statement;
        return (await client.query({ ...config, values })).rows as Row[];
      }),
    early<Row>(statement: Statement, values: SqlValue[], then: string) {
      const { promise: rows, resolve, reject } = Promise.withResolvers<Row[]>();
      const committed = use((client) =>
        queryEarly(client, { ...statement, values, then }, (early) => resolve(early as Row[])),
      );
      committed.catch(reject);
      return { rows, committed };
    },
    text: (statement, values, next) => use((client) => queryText(client, [statement, values], next)),
    ready: async () => void (await connected()),
    close,
  };
}
