import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../database/index.js';

/** Writes a webhook event of an organisation (contract 6.1); the promise resolves when it is in the outbox. */
export type Emit = (orgId: string, type: string, data: Record<string, unknown>) => Promise<void>;

interface PendingEvent {
  org: string;
  type: string;
  data: Record<string, unknown>;
}

const EMIT = {
  name: 'chat_events_emit',
  text: `SELECT penstock_emit('events', e.org, penstock_event(e.type, e.org, e.data))
    FROM jsonb_to_recordset($1::jsonb) AS e (org text, type text, data jsonb)`,
};
const MAX_BATCH = 500;
const MAX_WAITING = 20_000;
const RETRIES_MS = [100, 500, 1000, 2000, 5000];

/**
 * Events of one turn share one statement. While PostgreSQL is away they wait; what finds no room is logged and lost.
 */
export function createEmitter({
  database,
  logger,
}: {
  database: Pick<Database, 'system'>;
  logger: Logger;
}): Emit {
  let waiting: PendingEvent[] = [];
  let running: Promise<void> | null = null;

  const write = async (batch: PendingEvent[]): Promise<void> => {
    const json = JSON.stringify(batch);
    for (let tries = 0; ; tries++) {
      try {
        await database.system.query(EMIT, [json]);
        return;
      } catch (error) {
        const delay = RETRIES_MS[tries];
        if (delay === undefined) {
          logger.error(
            { err: error, events: batch.length },
            'events were lost: the database did not take them',
          );
          return;
        }
        await sleep(delay, undefined, { ref: false });
      }
    }
  };
  const drain = async (): Promise<void> => {
    await new Promise((resume) => setImmediate(resume));
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      await write(batch);
    }
    running = null;
  };
  return (org, type, data) => {
    if (waiting.length >= MAX_WAITING) {
      logger.error({ type }, 'an event was lost: too many wait for the database');
      return Promise.resolve();
    }
    waiting.push({ org, type, data });
    running ??= drain();
    return running;
  };
}
