import type { Logger } from 'pino';
import type { Sql } from '../database/index.js';
import { MARK_USED } from './authenticator.queries.js';

const FLUSH_MS = 10_000;

/** Writes `last_used_at` of keys, for many keys at once and in the background, so that no request waits for it. */
export function createLastUsedWriter(options: { sql: Sql; logger: Logger }) {
  const { sql, logger } = options;
  let used = new Set<string>();
  let timer: NodeJS.Timeout | null = null;

  const flush = async (): Promise<void> => {
    timer = null;
    const ids = [...used];
    used = new Set();
    if (ids.length === 0) return;
    try {
      await sql.query(MARK_USED, [ids]);
    } catch (error) {
      logger.warn({ err: error }, 'the times at which keys were used could not be stored');
    }
  };
  return {
    add(keyId: string): void {
      used.add(keyId);
      if (timer !== null) return;
      timer = setTimeout(() => void flush(), FLUSH_MS);
      timer.unref();
    },
    async close(): Promise<void> {
      if (timer !== null) clearTimeout(timer);
      await flush();
    },
  };
}
