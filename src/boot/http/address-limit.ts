import type { RateState } from '../../metering/metering.types.js';

const LIMIT = 60;
const WINDOW_MS = 60_000;
/** Addresses remembered at most; beyond it the longest quiet one is forgotten. */
const MAX_ADDRESSES = 50_000;

/** The sliding window of requests without a valid key, by client address (decisions 1): keys cannot be guessed at speed. */
export interface AddressLimit {
  /** Takes a slot, if one is free. */
  take(address: string): { admitted: boolean; rate: RateState; retryAfter: number };
  /** The window as it stands. */
  state(address: string): RateState;
}

/** In memory of one process. `now` in milliseconds, of a clock that only goes forward: a day's clock that is set back would shut everybody out. */
export function createAddressLimit(now: () => number = () => performance.now()): AddressLimit {
  const windows = new Map<string, number[]>();
  const windowOf = (address: string): number[] => {
    const start = now() - WINDOW_MS;
    const times = (windows.get(address) ?? []).filter((time) => time > start);
    // Written again at the end: the map's order is that of the last use.
    windows.delete(address);
    windows.set(address, times);
    if (windows.size > MAX_ADDRESSES) forgetOldest(windows);
    return times;
  };
  const freeAt = (times: number[]): number => (times[0] ?? now()) + WINDOW_MS;
  const rateOf = (times: number[]): RateState => ({
    limit: LIMIT,
    remaining: LIMIT - times.length,
    reset: Math.ceil((Date.now() + freeAt(times) - now()) / 1000),
  });
  return {
    take(address) {
      const times = windowOf(address);
      const admitted = times.length < LIMIT;
      if (admitted) times.push(now());
      const retryAfter = Math.max(1, Math.ceil((freeAt(times) - now()) / 1000));
      return { admitted, rate: rateOf(times), retryAfter };
    },
    state: (address) => rateOf(windowOf(address)),
  };
}

function forgetOldest(windows: Map<string, number[]>): void {
  for (const address of windows.keys()) {
    windows.delete(address);
    return;
  }
}
