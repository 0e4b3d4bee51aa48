import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { clientOptions } from './pool.js';
import type { ConnectionLosses, Server } from './pool.js';

/** After so long without any answer, while some are awaited, the server is asked whether it is there. */
const QUIET_MS = 1500;
/** How long it has to say so, in turns. Both and a look together are less than a call's patience. */
const REPLY_TURNS = 5;
const TURN_MS = 500;
const ANSWER = { text: 'SELECT 1', query_timeout: REPLY_TURNS * TURN_MS };
/** A network as slow as this is used all the same. */
const SLOWEST_BYTES_PER_MS = 100;

/** A connection that an answer is awaited on. */
export interface Awaited {
  client: pg.ClientBase;
  since: number;
  /** Sent over it before. */
  bytes: number;
  /** What it is at, when that was first seen, and when the server is to be asked whether it is at it too. */
  query?: object | null;
  querySince?: number;
  askAt?: number;
  /** The server was not at it when it was asked. */
  wasIdle?: boolean;
}

/**
 * Notices a server that has gone without a word: a host that is frozen, a network that swallows what is sent. Its connections would stay open
 * for a quarter of an hour, and every call on them would wait as long. The same for a single connection that a firewall has forgotten: the
 * server says that it has long had nothing to do for it. A slow statement is none of that.
 */
export interface ConnectionWatch {
  begin(client: pg.ClientBase): Awaited;
  /** @param isAnswered false: the connection was lost, which says nothing of the server */
  end(awaited: Awaited, isAnswered: boolean): void;
  /** The same for each connection of a pool, while somebody has it. */
  watch(pool: pg.Pool): void;
  /** A connection that only listens shares the others' fate: it could not tell a silent server from one that has nothing to say. */
  listens(client: pg.ClientBase): void;
  close(): void;
}

interface ConnectionWatchOptions {
  server: Server;
  role: string;
  losses: ConnectionLosses;
  logger: Logger;
}

export function createConnectionWatch(options: ConnectionWatchOptions): ConnectionWatch {
  return new Watch(options);
}

class Watch implements ConnectionWatch {
  readonly #awaited = new Set<Awaited>();
  readonly #listening = new Set<pg.ClientBase>();
  readonly #pools: pg.Pool[] = [];
  #heardAt = performance.now();
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(private readonly options: ConnectionWatchOptions) {}

  begin(client: pg.ClientBase): Awaited {
    const one = { client, since: performance.now(), bytes: streamOf(client).bytesWritten };
    this.#awaited.add(one);
    this.#arm();
    return one;
  }

  end(one: Awaited, isAnswered: boolean): void {
    this.#awaited.delete(one);
    if (isAnswered) this.#heardAt = performance.now();
  }

  watch(pool: pg.Pool): void {
    this.#pools.push(pool);
    const out = new WeakMap<pg.PoolClient, Awaited>();
    pool.on('acquire', (client) => out.set(client, this.begin(client)));
    pool.on('release', (error: unknown, client) => {
      const one = out.get(client);
      if (one !== undefined) this.end(one, !error);
    });
  }

  listens(client: pg.ClientBase): void {
    this.#listening.add(client);
    client.once('end', () => this.#listening.delete(client));
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #arm(): void {
    if (this.#timer !== null || this.#closed || this.#awaited.size === 0) return;
    this.#timer = setTimeout(() => {
      void this.#look().finally(() => {
        this.#timer = null;
        this.#arm();
      });
    }, TURN_MS).unref();
  }

  async #look(): Promise<void> {
    const askedAt = performance.now();
    const [oldest] = this.#awaited;
    const due = [...this.#awaited].filter((one) => isDue(one, askedAt));
    const isQuiet = oldest !== undefined && askedAt - Math.max(oldest.since, this.#heardAt) >= QUIET_MS;
    if (!isQuiet && due.length === 0) return;
    const [said, isThere] = await Promise.all([askFor(due, this.options), isQuiet && this.#answersOnIdle()]);
    if (said !== null) {
      this.#heardAt = performance.now();
      const forgotten = due.filter((one) => isForgotten(one, said));
      this.#giveUp(forgotten, 'PostgreSQL is not at what connections wait for: they are given up');
    } else if (isQuiet && this.#heardAt < askedAt && !isThere) {
      const waiting = [...this.#awaited].filter(({ since }) => since < askedAt);
      this.#giveUp(waiting, 'PostgreSQL says nothing: the connections that wait for it are given up');
    }
  }

  /** A server that takes no new connections may still be there: it is asked on one that is open and that nobody uses. */
  async #answersOnIdle(): Promise<boolean> {
    const pool = this.#pools.find(({ idleCount }) => idleCount > 0);
    if (pool === undefined) return false;
    let client: pg.PoolClient | undefined;
    let isAnswered = false;
    try {
      client = await pool.connect();
      await client.query(ANSWER);
      isAnswered = true;
    } catch {
      // Silence, or a loss: the caller gives the waiting connections up.
    }
    client?.release(!isAnswered);
    return isAnswered;
  }

  /** Listening connections share the others' fate: they could not tell silence from having nothing to say. */
  #giveUp(lost: readonly Awaited[], message: string): void {
    if (lost.length === 0 || this.#closed) return;
    const { losses, logger } = this.options;
    losses.count += 1;
    logger.warn(message);
    for (const client of [...lost.map(({ client }) => client), ...this.#listening]) destroy(client);
  }
}

interface Internals {
  processID: number | null;
  connection: { stream: Socket };
  _getActiveQuery(): object | null;
}

/** The statement that a connection is at (pg/lib/client.js). */
const queryOf = (client: pg.ClientBase): object | null => (client as unknown as Internals)._getActiveQuery();
const streamOf = (client: pg.ClientBase): Socket => (client as unknown as Internals).connection.stream;
const pidOf = (client: pg.ClientBase): number => (client as unknown as Internals).processID ?? 0;

/** Whether a connection has been at the same statement for so long that the server is asked for it: each time after twice as long. */
function isDue(one: Awaited, now: number): boolean {
  const query = queryOf(one.client);
  if (query !== one.query) {
    one.query = query;
    one.querySince = now;
    // The server begins once it has heard all of it.
    one.askAt = now + QUIET_MS + (streamOf(one.client).bytesWritten - one.bytes) / SLOWEST_BYTES_PER_MS;
    one.wasIdle = false;
  }
  const { querySince = now, askAt = now } = one;
  if (query === null || now < askAt) return false;
  one.askAt = now + (now - querySince);
  return true;
}

/** A backend that is slow to begin is at work when it is asked for again. */
const ASK_AGAIN_MS = 1000;

/** Whether the server has no backend for a statement, or twice was not at work on it. */
function isForgotten(one: Awaited, said: Backends): boolean {
  const { client, query, wasIdle = false } = one;
  const found = said.get(pidOf(client));
  if (found === undefined || queryOf(client) !== query) return false;
  if (found === 'gone' || wasIdle) return true;
  one.wasIdle = true;
  one.askAt = performance.now() + ASK_AGAIN_MS;
  return false;
}

/** The backends that are not working, by process number. */
type Backends = ReadonlyMap<number, 'gone' | 'idle'>;

/**
 * Backends that have had nothing to do for so long, though an answer of theirs is awaited, and those that are no more: a server may have been
 * restarted, or replaced, behind a network that forgot. A pooler has process numbers of its own, which say nothing of that. The login's own
 * states are seen without a role only.
 */
const NOT_AT_WORK = `
SELECT pid, CASE WHEN a.pid IS NULL THEN 'gone' ELSE 'idle' END AS state FROM unnest($1::int[]) pid LEFT JOIN pg_stat_activity a USING (pid)
WHERE (a.pid IS NULL AND pg_backend_pid() = $2)
   OR (a.state LIKE 'idle%' AND a.state_change < clock_timestamp() - interval '1 second')`;

async function notAtWork(client: pg.Client, pids: number[]): Promise<Backends> {
  if (pids.length === 0) return new Map();
  await client.query('SET ROLE NONE');
  const { rows } = await client.query<{ pid: number; state: 'gone' | 'idle' }>(NOT_AT_WORK, [
    pids,
    pidOf(client),
  ]);
  return new Map(rows.map(({ pid, state }) => [pid, state]));
}

/**
 * Asks over a new connection which of those that are awaited the server is not at work for. A refusal is an answer too, and says nothing of
 * them. The time is counted in turns, each of which hears what has come: a process that was busy itself for longer must not take that for the
 * server's silence.
 * @returns null where the server says nothing at all
 */
async function askFor(
  due: readonly Awaited[],
  { server, role }: Pick<ConnectionWatchOptions, 'server' | 'role'>,
): Promise<Backends | null> {
  const pids = due.map(({ client }) => pidOf(client));
  const client = new pg.Client({ ...clientOptions(server, role), connectionTimeoutMillis: 0 });
  client.on('error', () => undefined);
  const nothing: Backends = new Map();
  const reply = client.connect().then(
    () => notAtWork(client, pids).catch(() => nothing),
    (error: unknown) => (error instanceof pg.DatabaseError ? nothing : null),
  );
  let answer: Backends | null | undefined;
  for (let turn = 0; turn < REPLY_TURNS && answer === undefined; turn++)
    answer = await Promise.race([reply, sleep(TURN_MS, undefined, { ref: false })]);
  if (answer) void client.end().catch(() => undefined);
  else destroy(client);
  return answer ?? null;
}

/** Ends a connection without a farewell: who awaits an answer hears of its loss at once. */
function destroy(client: pg.ClientBase): void {
  streamOf(client).destroy();
}
