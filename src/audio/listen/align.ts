import type { Span } from './spans.js';

export interface HeardWord extends Span {
  word: string;
}

/** What takes no sound of its own. */
const weightOf = (word: string): number => 1.5 + word.replace(/[^\p{L}\p{N}]/gu, '').length;

/**
 * Lays known words over the stretches in which somebody speaks, each with the time that its letters deserve.
 * @returns the words of each span; a span may have none
 */
export function alignWords(text: string, spans: readonly Span[]): HeardWord[][] {
  const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const total = words.reduce((sum, word) => sum + weightOf(word), 0);
  const spoken = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  const aligned: HeardWord[][] = spans.map(() => []);
  let weight = 0;
  let span = 0;
  let gone = 0;
  for (const word of words) {
    const from = (weight / total) * spoken;
    weight += weightOf(word);
    const to = (weight / total) * spoken;
    const middle = (from + to) / 2;
    for (let current = spans[span]; current !== undefined && span < spans.length - 1; current = spans[span]) {
      if (middle < gone + current.end - current.start) break;
      gone += current.end - current.start;
      span++;
    }
    const current = spans[span];
    if (current === undefined) break;
    const within = (seconds: number) =>
      Math.min(current.end, Math.max(current.start, current.start + seconds - gone));
    aligned[span]?.push({ word, start: within(from), end: within(to) });
  }
  return aligned;
}
