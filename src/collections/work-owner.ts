import { AsyncLocalStorage } from 'node:async_hooks';

/** Whom work is done for. */
export interface WorkOwner {
  orgId: string;
  /** The permit that the work holds. */
  permit: {
    rest<T>(wait: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  } | null;
}

/** The owner of the current work. It follows the work through all calls, so that no caller has to pass it to a pool or to the time slicer. */
export const workOwner = new AsyncLocalStorage<WorkOwner>();
