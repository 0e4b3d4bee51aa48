import pg from 'pg';
import type { Logger } from 'pino';
import type { DedicatedSql, SqlValue, Statement } from './database.types.js';
import { queryEarly } from './early-rows.js';
import { isConnectionFault, unavailable } from './faults.js';
import { clientOptions, FORGETTABLE_MS, patiently, PING } from './pool.js';
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
  let held: pg.Client | null = null;
  /** What is known of the one that is held. */
  let atWork = 0;
  let heardAt = 0;
  let lossesThen = 0;

  const heard = (): void => {
    heardAt = performance.now();
    lossesThen = losses.count;
  };
  const lose = (client: pg.Client): void => {
    if (held !== client) return;
    held = current = null;
    losses.count += 1;
  };
  const open = async (): Promise<pg.Client> => {
    const client = new pg.Client(clientOptions(server, role, settings));
    client.on('error', (error) => logger.debug({ err: error }, 'a dedicated database connection was lost'));
    for (const event of ['error', 'end'] as const) client.once(event, () => lose(client));
    await client.connect();
    return client;
  };
  /** Asks one that may be lost, and makes another if it is: nothing was sent over it yet. */
  const renew = (last: pg.Client): Promise<pg.Client> => {
    let isAsked = false;
    return patiently(server, async () => {
      if (isAsked) return open();
      isAsked = true;
      try {
        await last.query(PING);
        return last;
      } catch (error) {
        losses.count += 1;
        last.end().catch(() => undefined);
        throw error;
      }
    });
  };
  const hold = (attempt: Promise<pg.Client>): Promise<pg.Client> => {
    current = attempt;
    held = null;
    attempt.then(
      (client) => {
        if (current !== attempt) return;
        held = client;
        heard();
      },
      () => {
        if (current === attempt) current = null;
        losses.count += 1;
      },
    );
    return attempt;
  };
  const isForgettable = (): boolean =>
    atWork === 0 && (losses.count !== lossesThen || performance.now() - heardAt > FORGETTABLE_MS);
  const connected = (): Promise<pg.Client> => {
    if (current === null) return hold(patiently(server, open));
    return held !== null && isForgettable() ? hold(renew(held)) : current;
  };
  return {
    connected,
    async use<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
      const client = await connected();
      const awaited = silence.begin(client);
      atWork += 1;
      let isAnswered = true;
      try {
        const answer = await work(client);
        if (held === client) heard();
        return answer;
      } catch (error) {
        if (!isConnectionFault(error)) throw error;
        isAnswered = false;
        // Its own end may be heard of later than the next statement comes; one that still stands has no other user.
        lose(client);
        client.end().catch(() => undefined);
        throw unavailable(error);
      } finally {
        atWork -= 1;
        silence.end(awaited, isAnswered);
      }
    },
    async close() {
      const last = current;
      held = current = null;
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
