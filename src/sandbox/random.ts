import { createHash } from 'node:crypto';
import { nextSlice } from '../collections/time-slicer.js';

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

/** Longer strings of a seed are told apart by their length, their beginning and their end: a picture has megabytes. */
const LONG = 65_536;
/** Characters that are written before the event loop gets its turn. */
const SLICE = 1_048_576;

/** JSON of a list of values, all but what their longest strings have in the middle. Each item of an inner list is written by itself. */
export async function seedOf(values: readonly unknown[]): Promise<string> {
  const short = (_: string, value: unknown): unknown =>
    typeof value === 'string' && value.length > LONG
      ? [value.length, value.slice(0, LONG / 2), value.slice(-LONG / 2)]
      : value;
  const hash = createHash('sha256');
  let written = 0;
  for (const value of values.flat()) {
    const text = JSON.stringify(value, short) ?? '';
    hash.update(text).update('\n');
    written += text.length;
    if (written < SLICE) continue;
    written = 0;
    await nextSlice();
  }
  return hash.digest('hex');
}
