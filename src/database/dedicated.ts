import pg from 'pg';
import type { Logger } from 'pino';
import type { DedicatedSql, SqlValue, Statement } from './database.types.js';
import { queryWithEarlyResults } from './early-results.js';
import { isConnectionFault, unavailable } from './faults.js';
import { clientOptions, FORGETTABLE_MS, retryUntilAvailable, PING } from './pool.js';
import type { ConnectionLosses, Server, Settings } from './pool.js';
import type { ConnectionWatch } from './connection-watch.js';
import { queryText } from './text-query.js';

interface DedicatedOptions {
  server: Server;
  role: string;
  losses: ConnectionLosses;
  connectionWatch: ConnectionWatch;
  logger: Logger;
  settings?: Settings;
}

/** Lends the one connection, made when first needed and again after a loss. */
class Holder {
  #current: Promise<pg.Client> | null = null;
  #held: pg.Client | null = null;
  /** What is known of the one that is held. */
  #atWork = 0;
  #heardAt = 0;
  #lossesThen = 0;

  constructor(private readonly options: DedicatedOptions) {}

  connected(): Promise<pg.Client> {
    if (this.#current === null)
      return this.#hold(retryUntilAvailable(this.options.server, () => this.#open()));
    return this.#held !== null && this.#isForgettable()
      ? this.#hold(this.#renewed(this.#held))
      : this.#current;
  }

  async use<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const { connectionWatch } = this.options;
    const client = await this.connected();
    const awaited = connectionWatch.begin(client);
    this.#atWork += 1;
    let isAnswered = true;
    try {
      const answer = await work(client);
      if (this.#held === client) this.#heard();
      return answer;
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      isAnswered = false;
      // Its own end may be heard of later than the next statement comes; one that still stands has no other user.
      this.#lose(client);
      client.end().catch(() => undefined);
      throw unavailable(error);
    } finally {
      this.#atWork -= 1;
      connectionWatch.end(awaited, isAnswered);
    }
  }

  async close(): Promise<void> {
    const last = this.#current;
    this.#held = this.#current = null;
    const client = await last?.catch(() => null);
    await client?.end();
  }

  async #open(): Promise<pg.Client> {
    const { server, role, settings, logger } = this.options;
    const client = new pg.Client(clientOptions(server, role, settings));
    client.on('error', (error) => logger.debug({ err: error }, 'a dedicated database connection was lost'));
    for (const event of ['error', 'end'] as const) client.once(event, () => this.#lose(client));
    await client.connect();
    return client;
  }

  /** Asks one that may be lost, and makes another if it is: nothing was sent over it yet. */
  #renewed(last: pg.Client): Promise<pg.Client> {
    const { server, losses } = this.options;
    let isAsked = false;
    return retryUntilAvailable(server, async () => {
      if (isAsked) return this.#open();
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
  }

  #hold(attempt: Promise<pg.Client>): Promise<pg.Client> {
    this.#current = attempt;
    this.#held = null;
    attempt.then(
      (client) => {
        if (this.#current !== attempt) return;
        this.#held = client;
        this.#heard();
      },
      () => {
        if (this.#current === attempt) this.#current = null;
        this.options.losses.count += 1;
      },
    );
    return attempt;
  }

  #heard(): void {
    this.#heardAt = performance.now();
    this.#lossesThen = this.options.losses.count;
  }

  #lose(client: pg.Client): void {
    if (this.#held !== client) return;
    this.#held = this.#current = null;
    this.options.losses.count += 1;
  }

  #isForgettable(): boolean {
    if (this.#atWork > 0) return false;
    return (
      this.options.losses.count !== this.#lossesThen || performance.now() - this.#heardAt > FORGETTABLE_MS
    );
  }
}

/**
 * A single connection for statements that one loop sends one after the other. It is made when first needed and again after a loss; a
 * statement during which it is lost answers 503.
 */
export function createDedicated(options: DedicatedOptions): DedicatedSql {
  const holder = new Holder(options);
  return {
    query: <Row>(statement: string | Statement, values: SqlValue[] = []) =>
      holder.use(async (client) => {
        const config = typeof statement === 'string' ? { text: statement } : statement;
        return (await client.query({ ...config, values })).rows as Row[];
      }),
    queryWithEarlyRows<Row>(statement: Statement, values: SqlValue[], then: string) {
      const { promise: rows, resolve, reject } = Promise.withResolvers<Row[]>();
      const committed = holder.use((client) =>
        queryWithEarlyResults(client, { ...statement, values, then }, (early) => resolve(early as Row[])),
      );
      committed.catch(reject);
      return { rows, committed };
    },
    text: (statement, values, next) => holder.use((client) => queryText(client, [statement, values], next)),
    ready: async () => void (await holder.connected()),
    close: () => holder.close(),
  };
}
