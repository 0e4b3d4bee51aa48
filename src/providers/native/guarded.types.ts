import type { OrderLog } from '../order.types.js';

/** Runs a package's call: converts its errors, and stores its orders. */
export type Guarded = <T>(
  call: { signal: AbortSignal | undefined; orders?: OrderLog | undefined },
  work: () => PromiseLike<T>,
) => Promise<T>;
