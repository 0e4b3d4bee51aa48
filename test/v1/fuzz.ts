export interface Random {
  /** From 0, below 1. */
  next(): number;
}

/** The same numbers for the same seed. */
export function createRandom(seed: number): Random {
  let state = seed;
  return {
    next() {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    },
  };
}

/** The same bytes, cut wherever chance wants it: within characters and line ends too. */
export function cut(events: readonly string[], random: Random): Buffer[] {
  const bytes = Buffer.from(events.join(''));
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const size = 1 + Math.floor(random.next() * 60);
    pieces.push(bytes.subarray(from, (from += size)));
  }
  return pieces;
}

export const pick = <T>(random: Random, list: readonly T[]): T =>
  list[Math.floor(random.next() * list.length)] as T;

/** A text with all that streams have stumbled over. */
export const TEXT = 'Grüße, 世界 🌍 "quoted" \\ and\nlines';
