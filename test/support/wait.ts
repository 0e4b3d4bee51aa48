import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until `probe` returns a value other than undefined, null or false, and returns that value. An error of the probe counts as "not yet".
 * @throws Error after `timeoutMs` (default 15 s), with the probe's last error as its cause
 */
export async function eventually<T>(
  probe: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  { timeoutMs = 15_000, everyMs = 25, what = 'what was awaited' } = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let fault: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== null && value !== false) return value;
      fault = undefined;
    } catch (error) {
      fault = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`${what} did not happen within ${timeoutMs} ms`, { cause: fault });
    }
    await sleep(everyMs);
  }
}

/** Runs `work` for each item, at most `width` at a time; returns the results in the items' order. */
export async function inParallel<Item, Result>(
  items: Iterable<Item>,
  width: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const list = [...items];
  const results: Result[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < list.length; index = next++) {
      results[index] = await work(list[index] as Item, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, list.length) }, lane));
  return results;
}

/** Pseudo-random numbers that are the same in each run, so that a fault can be reproduced. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
