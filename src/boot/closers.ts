import type { Logger } from 'pino';

/** Closes all that a start has opened, in the reverse order, even if some of it fails to close. */
export interface Closers {
  add(name: string, close: () => unknown): void;
  closeAll(): Promise<void>;
}

const CLOSE_TIMEOUT_MS = 5_000;

export function createClosers(logger: Logger): Closers {
  const opened: { name: string; close: () => unknown }[] = [];
  return {
    add: (name, close) => void opened.push({ name, close }),
    async closeAll() {
      for (const { name, close } of opened.splice(0).reverse()) {
        try {
          await within(name, close);
        } catch (error) {
          logger.error({ err: error }, `closing ${name} failed`);
        }
      }
    },
  };
}

/** A broker or a database that does not answer must not keep the process from ending. */
async function within(name: string, close: () => unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} did not close in time`)), CLOSE_TIMEOUT_MS);
  });
  try {
    await Promise.race([Promise.resolve(close()), late]);
  } finally {
    clearTimeout(timer);
  }
}
