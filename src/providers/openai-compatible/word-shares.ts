import type { TimeSlicer } from '../../collections/time-slicer.js';
import type { TranscribedWord } from '../stt.types.js';

/** Further than this a word's next place in a text is another one of the same letters. */
const NEAR_CHARACTERS = 60;
/** So many segments before a moment are looked at: more people do not speak at once. */
const NEAR_SPANS = 16;

interface Span {
  from: number;
  to: number;
  text: string;
  /** Up to where its text is told by words. */
  coveredTo: number;
  /** Among the segments. */
  index: number;
  words: TranscribedWord[];
}

/** Segments by the time at which they begin, and of each beginning the one that ends last. */
interface Spans {
  sorted: Span[];
  longest: Span[];
}

/**
 * The words of each segment. A word belongs to the segment in which its middle lies, else to the nearest one: an upstream's words and
 * segments are timed apart, and no word may fall between. Where people speak at once the segments' texts tell whose it is.
 */
export async function sharesOf(
  words: TranscribedWord[],
  segments: Record<string, unknown>[],
  timeSlicer: TimeSlicer,
): Promise<TranscribedWord[][]> {
  const spans = await timeSlicer.map(segments, ({ start, end, text }, index): Span => {
    const said = typeof text === 'string' ? text.toLowerCase() : '';
    return { from: Number(start ?? 0), to: Number(end ?? 0), text: said, coveredTo: 0, index, words: [] };
  });
  const timed = spansByTime(spans);
  await timeSlicer.map(words, (word) => {
    const said = word.word.trim().toLowerCase();
    const span = saidIn(nearest(timed, (word.start + word.end) / 2), said);
    if (span === undefined) return;
    span.words.push(word);
    span.coveredTo += (aheadIn(span, said) ?? -said.length) + said.length;
  });
  return spans.map((span) => span.words);
}

function spansByTime(spans: readonly Span[]): Spans {
  const sorted = spans
    .filter(({ from, to }) => !Number.isNaN(from) && !Number.isNaN(to))
    .sort((a, b) => a.from - b.from || a.index - b.index);
  const longest: Span[] = [];
  for (const span of sorted) {
    const before = longest.at(-1);
    longest.push(before === undefined || span.to > before.to ? span : before);
  }
  return { sorted, longest };
}

/** The segments that hold a moment, else the nearest, in their order. */
function nearest({ sorted, longest }: Spans, moment: number): Span[] {
  if (Number.isNaN(moment)) return [];
  const after = firstAfter(sorted, moment);
  const looked: Span[] = [];
  for (let at = after - 1; at >= 0 && at >= after - NEAR_SPANS; at--) {
    // Nothing before it reaches the moment either: of those the longest is the nearest.
    if ((longest[at] as Span).to < moment) break;
    looked.push(sorted[at] as Span);
  }
  const before = longest[after - 1];
  if (before !== undefined && !looked.includes(before)) looked.push(before);
  const next = sorted[after];
  for (let at = after; next && at < after + NEAR_SPANS && sorted[at]?.from === next.from; at++)
    looked.push(sorted[at] as Span);
  const distances = looked.map(({ from, to }) => Math.max(from - moment, moment - to, 0));
  const least = Math.min(...distances);
  return looked.filter((_, at) => distances[at] === least).sort((a, b) => a.index - b.index);
}

/** The place of the first that begins after a moment. */
function firstAfter(sorted: readonly Span[], moment: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as Span).from <= moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Of segments that hold a word's middle, the one in whose text it comes next, else the last. */
function saidIn(spans: Span[], word: string): Span | undefined {
  let [found, least] = [spans.at(-1), Infinity];
  for (const span of spans) {
    const ahead = aheadIn(span, word) ?? Infinity;
    if (ahead < least) [found, least] = [span, ahead];
  }
  return found;
}

/** How many characters of its text lie before the word's next place; null where it does not come soon. */
function aheadIn({ text, coveredTo }: Span, word: string): number | null {
  const at = text.slice(coveredTo, coveredTo + NEAR_CHARACTERS + word.length).indexOf(word);
  return at < 0 ? null : at;
}
