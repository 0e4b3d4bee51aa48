import type { OrderLog } from '../order.types.js';

/** Runs what a package does for a call: with our errors, its orders remembered. */
export type Guarded = <T>(
  call: { signal: AbortSignal | undefined; orders?: OrderLog | undefined },
  work: () => PromiseLike<T>,
) => Promise<T>;
