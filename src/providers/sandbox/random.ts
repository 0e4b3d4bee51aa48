import { createHash } from 'node:crypto';

/** Numbers in [0, 1) that depend on nothing but the seed. */
export interface Random {
  next(): number;
  /** A whole number from 0 to `below` − 1. */
  int(below: number): number;
  pick<T>(from: readonly [T, ...T[]]): T;
}

/** The same sequence for the same seed, on every machine (mulberry32 over a SHA-256 of the seed). */
export function createRandom(seed: string): Random {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return { next, int, pick: (from) => from[int(from.length)] ?? from[0] };
}
