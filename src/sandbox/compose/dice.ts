import { createHash } from 'node:crypto';

/** Random numbers that depend only on the seed (xorshift over a SHA-256 of it). */
export interface Dice {
  /** In [0, 1). */
  next(): number;
  /** Whole, from 0 to `below` − 1. */
  int(below: number): number;
  pick<T>(from: readonly [T, ...T[]]): T;
}

export function createDice(seed: string): Dice {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0) || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return { next, int, pick: (from) => from[int(from.length)] ?? from[0] };
}
