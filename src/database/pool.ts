import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { isConnectionFault, PATIENCE_MS, unavailable } from './faults.js';

const STATEMENT_TIMEOUT_MS = 30_000;

/** How to reach PostgreSQL, and what to do when it does not answer. */
export interface Server {
  url: string;
  /** Brings the embedded server back; nothing to do where an operator runs PostgreSQL. */
  ensure(): Promise<void>;
}

/** Integers come as numbers wherever a number holds them exactly, else as strings. */
function parseInt8(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, parseInt8);
const int8Array: number = 1016;
types.setTypeParser(int8Array, (text: string) =>
  (pg.types.getTypeParser(1009 as number)(text) as string[]).map(parseInt8),
);

/**
 * A connection string and start-up options that make its connection act as one of the two roles, which own nothing and are bound by row
 * level security. Options of the string come first: pg would let them replace ours, and with them the role.
 */
export function connectionAs(server: Server, role: string): { connectionString: string; options: string } {
  const [base = '', query = ''] = server.url.split('?', 2);
  const parameters = new URLSearchParams(query);
  const given = parameters.get('options') ?? '';
  parameters.delete('options');
  const own = `-c role=${role} -c statement_timeout=${STATEMENT_TIMEOUT_MS} -c idle_in_transaction_session_timeout=60000 -c TimeZone=UTC`;
  return { connectionString: `${base}?${parameters}`, options: `${given} ${own}`.trim() };
}

export function clientOptions(server: Server, role: string): pg.ClientConfig {
  return {
    ...connectionAs(server, role),
    types,
    application_name: 'penstock',
    connectionTimeoutMillis: PATIENCE_MS,
    keepAlive: true,
  };
}

/**
 * Tries until it works or the patience is over: a restart of PostgreSQL is a pause for callers, not a failure. Only for work that has
 * changed nothing yet when its connection fails.
 * @throws ApiError unavailable
 */
export async function patiently<T>(server: Server, attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 250)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      if (Date.now() + pauseMs > deadline) throw unavailable(error);
      await Promise.race([
        server.ensure().catch(() => undefined),
        sleep(deadline - Date.now(), undefined, { ref: false }),
      ]);
      await sleep(pauseMs);
    }
  }
}

export interface Pool {
  /** Runs `work` with a connection of its own; a fault of the connection while it works is a 503. */
  use<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function createPool(options: { server: Server; role: string; max: number; logger: Logger }): Pool {
  const { server, role, max, logger } = options;
  const pool = new pg.Pool({
    ...clientOptions(server, role),
    max,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
  });
  // Without a listener, an idle connection that PostgreSQL drops ends the process.
  const ignore = (error: Error): void => logger.debug({ err: error }, 'a database connection was lost');
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));

  const connect = (): Promise<pg.PoolClient> => pool.connect();
  return {
    async use(work) {
      const client = await patiently(server, connect);
      let fault: unknown;
      try {
        return await work(client);
      } catch (error) {
        fault = error;
        throw isConnectionFault(error) ? unavailable(error) : error;
      } finally {
        client.release(fault !== undefined && isConnectionFault(fault));
      }
    },
    close: () => pool.end(),
  };
}
