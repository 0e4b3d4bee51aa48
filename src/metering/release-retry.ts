import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Metering } from './metering.types.js';
import { zeroCostOutcome } from './outcome.js';

const RETRY_MS = 1_000;

export interface ReleaseRetryOptions {
  release: Metering['release'];
  logger: Logger;
}

/** Releases reservations of work that could not be stored. (The sweep releases only those of dead processes.) */
export function createReleaseRetry({ release, logger }: ReleaseRetryOptions) {
  const closing = new AbortController();
  const attempt = async (operationId: string, isStored: () => Promise<boolean>): Promise<boolean> => {
    if (await isStored()) return false;
    await release(operationId, zeroCostOutcome('failed', 'unavailable'));
    return true;
  };
  const retryUntilStored = async (operationId: string, isStored: () => Promise<boolean>): Promise<void> => {
    const pause = { signal: closing.signal, ref: false };
    while (!closing.signal.aborted) {
      try {
        await sleep(RETRY_MS, undefined, pause);
        await attempt(operationId, isStored);
        return;
      } catch (error) {
        if (!closing.signal.aborted)
          logger.warn(
            { err: error, operationId },
            'a reservation could not be released yet; it will be tried again',
          );
      }
    }
  };
  return {
    /** @see Metering */
    async releaseUnless(operationId: string, isStored: () => Promise<boolean>): Promise<boolean> {
      try {
        return await attempt(operationId, isStored);
      } catch (error) {
        logger.warn(
          { err: error, operationId },
          'a reservation could not be released; it will be tried again',
        );
        void retryUntilStored(operationId, isStored);
        return false;
      }
    },
    close: () => closing.abort(),
  };
}
