import type { Logger } from 'pino';
import type { Database } from '../database/index.js';
import type { Revocable } from './access.types.js';
import { DEAD_KEYS } from './authenticator.queries.js';

/** Interval of the check for revoked and expired keys of open connections. Revocations are normally pushed; expiry is noticed only by this check. */
const CHECK_MS = 800;

/** Calls listeners of open connections (WebSocket, SSE) when their key or client token is revoked or has expired, whichever process revoked it. */
export function createInvalidations(options: { database: Database; logger: Logger }) {
  const { database, logger } = options;
  const watched = new Map<string, Set<() => void>>();
  let timer: NodeJS.Timeout | null = null;

  const end = (keyId: string): void => {
    const listeners = watched.get(keyId);
    watched.delete(keyId);
    for (const listener of listeners ?? []) listener();
  };
  const check = async (): Promise<void> => {
    const dead = await database.system.query<{ id: string }>(DEAD_KEYS, [[...watched.keys()]]);
    for (const { id } of dead) end(id);
  };
  /** Schedules the next check after the end of the last one; none while no connection is open. */
  const schedule = (): void => {
    if (timer !== null || watched.size === 0) return;
    timer = setTimeout(() => {
      void check()
        .catch((error: unknown) =>
          logger.warn({ err: error }, 'could not check the keys of open connections'),
        )
        .finally(() => {
          timer = null;
          schedule();
        });
    }, CHECK_MS);
    timer.unref();
  };
  const stop = database.hints.on('key_invalid', end);

  const watch = (id: string, listener: () => void): (() => void) => {
    const listeners = watched.get(id) ?? new Set();
    watched.set(id, listeners.add(listener));
    schedule();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && watched.get(id) === listeners) watched.delete(id);
    };
  };

  return {
    on({ keyId, token }: Revocable, listener: () => void): () => void {
      const forgetKey = watch(keyId, listener);
      if (token === undefined) return forgetKey;
      const forgetToken = watch(token.id, listener);
      return () => {
        forgetKey();
        forgetToken();
      };
    },
    close(): void {
      stop();
      watched.clear();
      if (timer !== null) clearTimeout(timer);
    },
  };
}
