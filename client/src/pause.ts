import type { PenstockError } from './fault.js';

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 15_000;

/**
 * Milliseconds to wait before the next try. They grow up to a limit and have a random part, so that a restarted server does not get the requests of
 * all clients at once.
 */
export function waitMs(tries: number, { retryAfter }: PenstockError): number {
  const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 10));
  return Math.max((retryAfter ?? 0) * 1000, most * (0.5 + Math.random() / 2));
}

/** Browsers tell when they have a network again. Node.js does not. */
const network = globalThis as {
  addEventListener?(name: 'online', listener: () => void): void;
  removeEventListener?(name: 'online', listener: () => void): void;
};

/** Waits before the next try. After a lost connection the wait ends as soon as the browser has a network again. */
export const pause = (tries: number, fault: PenstockError): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      clearTimeout(timer);
      network.removeEventListener?.('online', go);
      resolve();
    };
    const timer = setTimeout(go, waitMs(tries, fault));
    if (fault.status === 0) network.addEventListener?.('online', go);
  });
