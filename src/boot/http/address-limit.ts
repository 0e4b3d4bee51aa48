import type { RateState } from '../../metering/metering.types.js';

const LIMIT = 60;
const WINDOW_MS = 60_000;
/** At most this many addresses are remembered; then the one used least recently is dropped. */
const MAX_ADDRESSES = 50_000;

/** The sliding window of requests without a valid key, by client address (decisions 1), so that nobody can guess keys quickly. */
export interface AddressLimit {
  /** Takes a slot, if one is free. */
  take(address: string): { admitted: boolean; rate: RateState; retryAfter: number };
  /** The window's state; takes no slot. */
  state(address: string): RateState;
}

/** Kept in the memory of one process. `now` is in milliseconds and must be monotonic: a wall clock that is set back would refuse everybody. */
export function createAddressLimit(now: () => number = () => performance.now()): AddressLimit {
  const windows = new Map<string, number[]>();
  const windowOf = (address: string): number[] => {
    const start = now() - WINDOW_MS;
    const times = (windows.get(address) ?? []).filter((time) => time > start);
    // Deleted and set again, so that the map's order is the order of the last use.
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
