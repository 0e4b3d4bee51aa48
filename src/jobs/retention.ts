import type { Logger } from 'pino';

const EVERY_MS = 600_000;

/** Deletes finished jobs and runs after their retention time (decisions 6, "Jobs"). */
export interface Retention {
  /** Sweeps now, and then every ten minutes. */
  start(): void;
  /** Sweeps once; returns how many were deleted. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

/** @param options `forgetSome` deletes one batch and returns its size; 0 ends the sweep. */
export function createRetention(options: {
  what: string;
  forgetSome(): Promise<number>;
  logger: Logger;
}): Retention {
  const { what, forgetSome, logger } = options;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  let running: Promise<unknown> = Promise.resolve();

  async function sweep(): Promise<number> {
    let forgotten = 0;
    while (!closed) {
      const some = await forgetSome();
      if (some === 0) break;
      forgotten += some;
    }
    return forgotten;
  }

  const tick = (): void => {
    running = sweep().then(
      (count) => count > 0 && logger.info({ count }, `finished ${what} were forgotten`),
      (error: unknown) =>
        logger.warn({ err: error }, `forgetting finished ${what} failed; it is tried again later`),
    );
  };
  return {
    start() {
      tick();
      timer = setInterval(tick, EVERY_MS);
    },
    sweep,
    async close() {
      closed = true;
      if (timer) clearInterval(timer);
      await running;
    },
  };
}
