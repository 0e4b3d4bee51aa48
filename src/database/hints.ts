import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import type { HintChannel, Hints } from './hints.types.js';
import type { Sql } from './database.types.js';
import { clientOptions } from './pool.js';
import type { ConnectionLosses, Server } from './pool.js';
import type { ConnectionWatch } from './connection-watch.js';

const CHANNELS: Record<HintChannel, true> = {
  outbox: true,
  job_pending: true,
  knowledge: true,
  job_event: true,
  job_cancel: true,
  job_part: true,
  run_event: true,
  run_pending: true,
  run_cancel: true,
  response_event: true,
  response_pending: true,
  response_cancel: true,
  key_invalid: true,
  key_changed: true,
  org_changed: true,
  webhook: true,
};

const PREFIX = 'penstock_';
const RETRY_MS = 250;
/** Not a channel: what listeners of `onReconnect` wait for. */
const RECONNECTED = 'reconnected';
const LISTEN = Object.keys(CHANNELS)
  .map((channel) => `LISTEN ${PREFIX}${channel}`)
  .join('; ');

type Dispatch = (name: string, payload: string) => void;

function createDispatch(emitter: EventEmitter<Record<string, [string]>>, logger: Logger): Dispatch {
  return (name, payload) => {
    for (const listener of emitter.listeners(name)) {
      try {
        listener(payload);
      } catch (error) {
        logger.error({ err: error, channel: name }, 'a hint listener failed');
      }
    }
  };
}

interface ListeningOptions {
  server: Server;
  role: string;
  losses: ConnectionLosses;
  connectionWatch: ConnectionWatch;
  logger: Logger;
  dispatch: Dispatch;
}

/** Keeps one listening connection open until it is closed. */
async function listen({
  server,
  role,
  losses,
  connectionWatch,
  logger,
  dispatch,
}: ListeningOptions): Promise<() => Promise<void>> {
  let client: pg.Client | null = null;
  let closed = false;

  const connect = async (): Promise<void> => {
    const next = new pg.Client({ ...clientOptions(server, role), application_name: 'penstock-hints' });
    next.on('notification', ({ channel, payload }) => dispatch(channel.slice(PREFIX.length), payload ?? ''));
    next.on('error', (error) => logger.debug({ err: error }, 'the connection for hints was lost'));
    try {
      await next.connect();
      await next.query(LISTEN);
    } catch (error) {
      await next.end().catch(() => undefined);
      throw error;
    }
    connectionWatch.listens(next);
    next.once('end', () => void reconnect());
    client = next;
    if (closed) await next.end();
  };
  const reconnect = async (): Promise<void> => {
    if (!closed) losses.count += 1;
    client = null;
    while (!closed && client === null) {
      try {
        await connect();
        dispatch(RECONNECTED, '');
      } catch (error) {
        logger.debug({ err: error }, 'the connection for hints is still lost');
        await server.ensure().catch(() => undefined);
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
  };
  await connect();
  return async () => {
    closed = true;
    await client?.end();
  };
}

/** LISTEN/NOTIFY on a connection of its own that comes back by itself (decisions 9: ids only; lost hints cost a sweep). */
export async function createHints(options: {
  server: Server;
  role: string;
  losses: ConnectionLosses;
  connectionWatch: ConnectionWatch;
  sql: Sql;
  logger: Logger;
}): Promise<Hints> {
  const { sql, ...connection } = options;
  const emitter = new EventEmitter<Record<string, [string]>>().setMaxListeners(0);
  const close = await listen({ ...connection, dispatch: createDispatch(emitter, options.logger) });
  const on = (name: string, listener: (payload: string) => void): (() => void) => {
    emitter.on(name, listener);
    return () => emitter.off(name, listener);
  };
  return {
    on,
    onReconnect: (listener) => on(RECONNECTED, listener),
    async send(channel, payload) {
      await sql.query({ name: 'penstock_notify', text: 'SELECT pg_notify($1, $2)' }, [
        PREFIX + channel,
        payload,
      ]);
    },
    close,
  };
}
