import type { Span } from './spans.js';

export interface HeardWord extends Span {
  word: string;
}

/** The weight of a word: its letters, without characters that are not spoken. */
const weightOf = (word: string): number => 1.5 + word.replace(/[^\p{L}\p{N}]/gu, '').length;

/** How far, in words, a pause may be from where the letters' weights expect it. */
const NEARBY = 2;

/**
 * Lays known words over the stretches in which somebody speaks: pauses fall where sentences and clauses end, as far as the time fits, and
 * within a stretch each word gets time in proportion to its letters.
 * @returns the words of each span; a span may have none
 */
export function alignWords(text: string, spans: readonly Span[]): HeardWord[][] {
  // Signs between words (`&`, a dash) are said shortly, as a pause or not at all, and belong to the text.
  const words = text.split(/\s+/).filter((word) => word !== '');
  const total = words.reduce((sum, word) => sum + weightOf(word), 0);
  const spoken = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  let from = 0;
  let gone = 0;
  return spans.map((span, index) => {
    gone += span.end - span.start;
    const isLast = index === spans.length - 1;
    const cut = isLast ? words.length : pauseNear(words, cutAt(words, (gone / spoken) * total), from);
    const own = words.slice(from, cut);
    from = cut;
    return spread(own, span);
  });
}

/** The number of words that are spoken when the given part of the weight is reached. */
function cutAt(words: readonly string[], weight: number): number {
  let sum = 0;
  const after = words.findIndex((word) => {
    sum += weightOf(word);
    return sum - weightOf(word) / 2 > weight;
  });
  return after < 0 ? words.length : after;
}

/** The end of a sentence or clause near a cut, else the cut itself. */
function pauseNear(words: readonly string[], cut: number, from: number): number {
  for (const mark of [/[.!?…]["')\]]*$/, /[,;:]["')\]]*$/])
    for (let away = 0; away <= NEARBY; away++)
      for (const at of [cut - away, cut + away])
        if (at > from && at <= words.length && mark.test(words[at - 1] ?? '')) return at;
  return Math.max(from, cut);
}

function spread(words: readonly string[], { start, end }: Span): HeardWord[] {
  const total = words.reduce((sum, word) => sum + weightOf(word), 0);
  let weight = 0;
  return words.map((word) => {
    const from = start + ((end - start) * weight) / total;
    weight += weightOf(word);
    return { word, start: from, end: start + ((end - start) * weight) / total };
  });
}
