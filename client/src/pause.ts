import type { PenstockError } from './fault.js';

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 15_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Milliseconds to wait before the next try. They grow up to a limit and have a random part, so that a restarted server does not get the requests of
 * all clients at once.
 */
export function waitMs(tries: number, { retryAfter }: PenstockError): number {
  const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 10));
  return Math.max((retryAfter ?? 0) * 1000, most * (0.5 + Math.random() / 2));
}

/** Waits before the next try. */
export const pause = (tries: number, fault: PenstockError): Promise<void> => sleep(waitMs(tries, fault));
