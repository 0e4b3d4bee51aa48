import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { clientOptions } from './pool.js';
import type { Losses, Server } from './pool.js';

/** After so long without any answer, while some are awaited, the server is asked whether it is there. */
const QUIET_MS = 1500;
/** How long it has to say so, in turns. Both and a look together are less than a call's patience. */
const REPLY_TURNS = 5;
const TURN_MS = 500;

/** A connection that an answer is awaited on. */
export interface Awaited {
  client: pg.ClientBase;
  since: number;
}

/**
 * Notices a server that has gone without a word: a host that is frozen, a network that swallows what is sent. Its connections would stay open
 * for a quarter of an hour, and every call on them would wait as long. A slow statement is none of that: a server that greets a new connection,
 * or answers anything else meanwhile, is left alone.
 */
export interface Silence {
  begin(client: pg.ClientBase): Awaited;
  /** @param isAnswered false: the connection was lost, which says nothing of the server */
  end(awaited: Awaited, isAnswered: boolean): void;
  /** The same for each connection of a pool, while somebody has it. */
  watch(pool: pg.Pool): void;
  /** A connection that only listens shares the others' fate: it could not tell a silent server from one that has nothing to say. */
  listens(client: pg.ClientBase): void;
  close(): void;
}

interface SilenceOptions {
  server: Server;
  role: string;
  losses: Losses;
  logger: Logger;
}

export function createSilence({ server, role, losses, logger }: SilenceOptions): Silence {
  const awaited = new Set<Awaited>();
  const listening = new Set<pg.ClientBase>();
  let heardAt = performance.now();
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  const arm = (): void => {
    if (timer === null && !closed && awaited.size > 0) timer = setTimeout(() => void look(), TURN_MS).unref();
  };
  const look = async (): Promise<void> => {
    const [oldest] = awaited;
    const askedAt = performance.now();
    if (oldest !== undefined && askedAt - Math.max(oldest.since, heardAt) >= QUIET_MS) {
      if (await greets({ server, role })) heardAt = performance.now();
      else if (heardAt < askedAt && !closed) {
        losses.count += 1;
        logger.warn('PostgreSQL says nothing: the connections that wait for it are given up');
        for (const { client, since } of awaited) if (since < askedAt) destroy(client);
        for (const client of listening) destroy(client);
      }
    }
    timer = null;
    arm();
  };
  const begin = (client: pg.ClientBase): Awaited => {
    const one = { client, since: performance.now() };
    awaited.add(one);
    arm();
    return one;
  };
  const end = (one: Awaited, isAnswered: boolean): void => {
    awaited.delete(one);
    if (isAnswered) heardAt = performance.now();
  };
  return {
    begin,
    end,
    watch(pool) {
      const out = new WeakMap<pg.PoolClient, Awaited>();
      pool.on('acquire', (client) => out.set(client, begin(client)));
      pool.on('release', (error: unknown, client) => {
        const one = out.get(client);
        if (one !== undefined) end(one, !error);
      });
    },
    listens(client) {
      listening.add(client);
      client.once('end', () => listening.delete(client));
    },
    close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/**
 * Whether the server says anything to a new connection, be it a refusal. The time is counted in turns, each of which hears what has come: a
 * process that was busy itself for longer must not take that for the server's silence.
 */
async function greets({ server, role }: Pick<SilenceOptions, 'server' | 'role'>): Promise<boolean> {
  const client = new pg.Client({ ...clientOptions(server, role), connectionTimeoutMillis: 0 });
  client.on('error', () => undefined);
  const reply = client.connect().then(
    () => true,
    (error: unknown) => error instanceof pg.DatabaseError,
  );
  let answer: boolean | null = null;
  for (let turn = 0; turn < REPLY_TURNS && answer === null; turn++)
    answer = await Promise.race([reply, sleep(TURN_MS, null, { ref: false })]);
  if (answer === true) void client.end().catch(() => undefined);
  else destroy(client);
  return answer ?? false;
}

/** Ends a connection without a farewell: who awaits an answer hears of its loss at once. */
function destroy(client: pg.ClientBase): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
}
