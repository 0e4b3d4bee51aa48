import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

const RETRY_MS = 300;
const RETRY_FOR_MS = 20_000;

/**
 * Tries a write of a run until the database has decided, for as long as its lease may hold. The write must bear being repeated: its
 * answer may have been lost.
 */
export async function persist(write: () => Promise<boolean>, logger: Logger): Promise<boolean> {
  const until = performance.now() + RETRY_FOR_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isTransient(error) || performance.now() > until) throw error;
      logger.warn({ err: error }, 'a step of a run could not be written yet');
      await sleep(RETRY_MS);
    }
  }
}

/** What PostgreSQL refused for the statement's own sake stays refused. */
function isTransient(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return !(typeof code === 'string' && /^(22|23|42|P0)/.test(code) && code.length === 5);
}
