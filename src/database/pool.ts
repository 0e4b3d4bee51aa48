import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { isConnectionFault, UNAVAILABLE_AFTER_MS, unavailable } from './faults.js';
import type { ConnectionWatch } from './connection-watch.js';
import type { QueryCallback, TrackedQuery } from './tracked-query.js';

export const STATEMENT_TIMEOUT_MS = 30_000;

/** Run-time parameters of PostgreSQL that a connection begins with, by name: plain words and numbers. */
export type Settings = Readonly<Record<string, string>>;

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

/** What must hold on every connection, whatever the operator's database or roles have for others. */
const OWN = [
  `-c statement_timeout=${STATEMENT_TIMEOUT_MS} -c idle_in_transaction_session_timeout=60000 -c lock_timeout=0`,
  '-c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=postgres -c bytea_output=hex -c standard_conforming_strings=on',
  '-c array_nulls=on -c row_security=on',
  '-c default_transaction_isolation=read\\ committed -c default_transaction_deferrable=off',
].join(' ');

/**
 * A connection string and start-up options that make its connection act as one of the two roles, which own nothing and are bound by row
 * level security. Options of the string come first: pg would let them replace ours, and with them the role.
 */
export function connectionAs(
  server: Server,
  role: string,
  settings: Settings = {},
): { connectionString: string; options: string } {
  const [base = '', query = ''] = server.url.split('?', 2);
  const parameters = new URLSearchParams(query);
  const given = parameters.get('options') ?? '';
  parameters.delete('options');
  const more = Object.entries(settings).map(([name, value]) => ` -c ${name}=${value}`);
  const own = `-c role=${role} ${OWN}${more.join('')}`;
  return { connectionString: `${base}?${parameters}`, options: `${given} ${own}`.trim() };
}

/** The kernel asks an idle connection's other end: a network that has forgotten it is found out, and most do not forget while they hear something. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 30_000 } as const;

export function clientOptions(server: Server, role: string, settings: Settings = {}): pg.ClientConfig {
  return {
    ...connectionAs(server, role, settings),
    types,
    application_name: 'penstock',
    connectionTimeoutMillis: UNAVAILABLE_AFTER_MS,
    ...KEEP_ALIVE,
  };
}

/**
 * Retries until PostgreSQL is available or the deadline is over, so that a restart of PostgreSQL delays calls but does not fail them. Only for
 * work that has changed nothing when its connection fails.
 * @param attempt gets the deadline as a time of `performance.now()`, which does not change when the system's clock is set
 * @throws ApiError unavailable
 */
export async function retryUntilAvailable<T>(
  server: Server,
  attempt: (deadline: number) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + UNAVAILABLE_AFTER_MS;
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 250)) {
    try {
      return await attempt(deadline);
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      if (performance.now() + pauseMs > deadline) throw unavailable(error);
      await Promise.race([
        server.ensure().catch(() => undefined),
        sleep(deadline - performance.now(), undefined, { ref: false }),
      ]);
      await sleep(pauseMs);
    }
  }
}

/** A connection of a pool while one call has it. */
export interface Attempt {
  client: pg.PoolClient;
  /** Sends a statement of its own transaction; after a loss it is sent again where that cannot change anything twice. */
  send<Row>(make: (callback: QueryCallback) => TrackedQuery): Promise<Row[]>;
  /** What follows may take effect although the connection is lost meanwhile: this attempt is the last. */
  commits(): void;
}

export interface Pool {
  /**
   * Runs `work` with a connection of its own. Where the connection is lost and nothing can have taken effect, `work` runs again on another
   * one until the patience is over; else its loss is a 503.
   * @param options `changes`: statements outside a transaction change something, so that the connection must be known to be alive
   */
  use<T>(work: (attempt: Attempt) => Promise<T>, options?: { changes?: boolean }): Promise<T>;
  /** Resolves once it has a connection: without one, whoever comes first cannot know that PostgreSQL has one left. @throws ApiError unavailable */
  stands(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Counts the connections lost by all that share a server. Where one is lost others mostly are, so that each connection from before the
 * latest loss is asked before it is used.
 */
export interface ConnectionLosses {
  count: number;
}

/** A statement that changes something is not sent blindly over a connection that has been silent for longer. */
const SILENT_MS = 25;
/** Nor is any other: the network may have forgotten the connection. */
export const FORGETTABLE_MS = 15_000;
export const PING = { text: 'SELECT 1', query_timeout: 1000 };

interface Alive {
  losses: number;
  at: number;
}

/** A connection within the time that is left; one that comes later goes back to its pool. */
function connectBy(pool: pg.Pool, deadline: number): Promise<pg.PoolClient> {
  const leftMs = deadline - performance.now();
  // A first attempt has its whole patience, which the pool itself keeps to.
  if (leftMs >= UNAVAILABLE_AFTER_MS - 10) return pool.connect();
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(
      () => {
        isLate = true;
        reject(new Error('timeout exceeded when trying to connect'));
      },
      Math.max(0, leftMs),
    );
    pool
      .connect()
      .then((client) => (isLate ? client.release() : resolve(client)), reject)
      .finally(() => clearTimeout(timer));
  });
}

/** Draws connections that are alive, as far as can be known. */
function createDraw(pool: pg.Pool, losses: ConnectionLosses) {
  const seen = new WeakMap<pg.PoolClient, Alive>();
  const isTrusted = (client: pg.PoolClient, changes: boolean): boolean => {
    const alive = seen.get(client);
    if (alive === undefined || alive.losses !== losses.count) return false;
    return performance.now() - alive.at < (changes ? SILENT_MS : FORGETTABLE_MS);
  };
  return {
    async draw(changes: boolean, deadline: number): Promise<pg.PoolClient> {
      for (;;) {
        const client = await connectBy(pool, deadline);
        if (isTrusted(client, changes)) return client;
        const alive = { losses: losses.count, at: performance.now() };
        try {
          await client.query(PING);
          seen.set(client, alive);
          return client;
        } catch (error) {
          client.release(true);
          losses.count += 1;
          if (!isConnectionFault(error) || performance.now() > deadline) throw error;
        }
      }
    },
    isNew: (client: pg.PoolClient) => void seen.set(client, { losses: losses.count, at: performance.now() }),
    putBack(client: pg.PoolClient, isLost: boolean): void {
      if (isLost) losses.count += 1;
      const alive = seen.get(client);
      if (alive !== undefined) alive.at = performance.now();
      client.release(isLost);
    },
  };
}

interface OpenAttempt extends Attempt {
  readonly final: boolean;
}

/** What `use` gives to its work, for a connection drawn otherwise. */
export function createAttempt(client: pg.PoolClient, changes = false): OpenAttempt {
  let final = false;
  return {
    client,
    get final() {
      return final;
    },
    commits: () => void (final = true),
    async send<Row>(make: (callback: QueryCallback) => TrackedQuery) {
      const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>();
      const query = make((error, result) => (error ? reject(error) : resolve(result as pg.QueryResult)));
      client.query(query);
      try {
        return (await promise).rows as Row[];
      } catch (error) {
        final ||= changes && !query.changedNothing(error);
        throw error;
      }
    },
  };
}

export interface PoolOptions {
  server: Server;
  role: string;
  max: number;
  losses: ConnectionLosses;
  connectionWatch: ConnectionWatch;
  logger: Logger;
}

export function createPool({ server, role, max, losses, connectionWatch, logger }: PoolOptions): Pool {
  const pool = new pg.Pool({
    ...clientOptions(server, role),
    // One is kept however long nobody comes: PostgreSQL may have none left by then.
    min: 1,
    max,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
  });
  connectionWatch.watch(pool);
  const { draw, isNew, putBack } = createDraw(pool, losses);
  // Without a listener, an idle connection that PostgreSQL drops ends the process.
  const noteLoss = (error: Error): void => {
    losses.count += 1;
    logger.debug({ err: error }, 'a database connection was lost');
  };
  let connected = 0;
  let standing: Promise<void> | null = null;
  pool.on('error', noteLoss);
  pool.on('connect', (client) => {
    connected += 1;
    client.once('end', () => (connected -= 1));
    client.on('error', noteLoss);
    isNew(client);
  });

  const use: Pool['use'] = (work, { changes = false } = {}) =>
    retryUntilAvailable(server, async (deadline) => {
      const client = await draw(changes, deadline);
      const attempt = createAttempt(client, changes);
      let isLost = false;
      try {
        return await work(attempt);
      } catch (error) {
        isLost = isConnectionFault(error);
        throw isLost && attempt.final ? unavailable(error) : error;
      } finally {
        putBack(client, isLost);
      }
    });
  return {
    use,
    async stands() {
      if (connected > 0) return;
      standing ??= use(({ client }) => client.query(PING))
        .then(() => undefined)
        .finally(() => {
          standing = null;
        });
      await standing;
    },
    close: () => pool.end(),
  };
}
