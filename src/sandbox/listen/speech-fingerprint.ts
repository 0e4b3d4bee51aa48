import type { KnownSpeech } from '../../providers/stt.types.js';
import type { Samples } from '../../audio/index.js';
import { levelsOf } from './envelope.js';
import type { Envelope } from './envelope.js';
import { speechSpans } from './spans.js';
import type { Span } from './spans.js';

/** A known speech found in a recording. */
export interface Recognized extends Span {
  text: string;
}

const PRINT_STEPS = 1500;
const STEPS_PER_SECOND = 50;
/** A shorter speech cannot be distinguished from others. */
const LEAST_STEPS = 15;
/** Steps of the first, quick comparison; the second compares all. */
const GLANCE_STEPS = 75;
const GLANCE = 0.7;
/** Codecs leave 0.97 and more; other words in the same voice reach 0.6, and 0.95 where they are few. */
const SURE = 0.88;
const SURE_OF_FEW = 0.955;
const FEW_STEPS = 50;
/** Of what a longer speech has more than a shorter one: less of it is compared. */
const GOES_ON = 0.8;
/** Encoders put up to a tenth of a second in front. */
const SLACK_STEPS = 6;
/** Pauses between two speeches are short. */
const ANCHOR_PAUSE_SECONDS = 0.1;
const MOST_ANCHORS = 3000;

/** Louder steps do not outweigh the many softer ones. */
const compress = (level: number): number => Math.sqrt(Math.min(1, level));

export function fingerprintOfSpeech({ pcm, sampleRate }: Samples): Uint8Array {
  const levels = levelsOf(
    pcm.subarray(0, Math.ceil((PRINT_STEPS / STEPS_PER_SECOND) * sampleRate)),
    sampleRate,
  );
  return Uint8Array.from(levels.slice(0, PRINT_STEPS), (level) => Math.round(255 * compress(level)));
}

/** Finds known speeches in a recording, each at most once at a place, in their order. */
export function recognize(envelope: Envelope, known: readonly KnownSpeech[]): Recognized[] {
  if (known.length === 0) return [];
  const heard = heardOf(envelope);
  const candidates = known.flatMap(candidateOf);
  const found: Recognized[] = [];
  for (const { start } of speechSpans(envelope, ANCHOR_PAUSE_SECONDS).slice(0, MOST_ANCHORS)) {
    if (start < (found.at(-1)?.end ?? 0)) continue;
    const best = bestAt(heard, Math.round(start * STEPS_PER_SECOND), candidates);
    if (best !== null) found.push(best);
  }
  return found;
}

/** A recording's steps, and those that lie between them: what an encoder puts in front is no whole number of steps. */
type Heard = readonly [shift: number, levels: Float32Array][];

function heardOf({ levels }: Envelope): Heard {
  const between = levels.map((level, at) => Math.hypot(level, levels[at + 1] ?? 0) / Math.SQRT2);
  return [
    [0, Float32Array.from(levels, compress)],
    [0.5, Float32Array.from(between, compress)],
  ];
}

interface Candidate {
  speech: KnownSpeech;
  /** First step that is not silent. */
  onset: number;
}

/** The start of sound in a known speech, detected as in the recording. */
function candidateOf(speech: KnownSpeech): Candidate[] {
  const levels = Array.from(speech.fingerprint, (level) => (level / 255) ** 2);
  const [first] = speechSpans({ levels, pitches: [], seconds: speech.seconds }, ANCHOR_PAUSE_SECONDS);
  const onset = first === undefined ? levels.length : Math.round(first.start * STEPS_PER_SECOND);
  return levels.length - onset < LEAST_STEPS ? [] : [{ speech, onset }];
}

/** A known speech that fits a place. */
interface Hit {
  speech: KnownSpeech;
  /** In steps. */
  at: number;
  /** The levels it was compared with, and the start in them. */
  levels: Float32Array;
  from: number;
  similarity: number;
}

const endOf = ({ speech, at }: Hit): number => at + speech.seconds * STEPS_PER_SECOND;

/**
 * The speech that explains most of what is heard from an anchor on: one that begins like another and goes on as the recording does is meant
 * as a whole, however little less it fits than its beginning alone.
 */
function bestAt(heard: Heard, anchor: number, candidates: readonly Candidate[]): Recognized | null {
  const hits = candidates.flatMap((candidate) => hitAt(heard, anchor, candidate) ?? []);
  hits.sort((a, b) => endOf(a) - endOf(b));
  let [best] = hits;
  for (const hit of hits) if (best !== undefined && isMeant(hit, best)) best = hit;
  if (best === undefined) return null;
  const start = Math.max(0, best.at / STEPS_PER_SECOND);
  return { text: best.speech.text, start, end: endOf(best) / STEPS_PER_SECOND };
}

function hitAt(heard: Heard, anchor: number, { speech, onset }: Candidate): Hit | null {
  const { fingerprint, seconds } = speech;
  const first = anchor - onset;
  const sure = fingerprint.length < FEW_STEPS ? SURE_OF_FEW : SURE;
  let best: Hit | null = null;
  for (const [shift, levels] of heard)
    for (let from = first - SLACK_STEPS; from <= first + SLACK_STEPS; from++) {
      // A speech that is cut off does not match as a whole.
      if (from + onset < 0 || from + seconds * STEPS_PER_SECOND > levels.length + SLACK_STEPS) continue;
      if (correlation(levels, from, fingerprint.subarray(0, onset + GLANCE_STEPS)) < GLANCE) continue;
      const similarity = correlation(levels, from, fingerprint);
      if (similarity > (best?.similarity ?? sure))
        best = { speech, at: from + shift, levels, from, similarity };
    }
  return best;
}

/** Whether a speech that ends later than another one is rather what was said: by the whole of it, or by what it has more. */
function isMeant({ speech, at, levels, from, similarity }: Hit, other: Hit): boolean {
  if (similarity > other.similarity) return true;
  const more = Math.max(0, Math.round(endOf(other) - at));
  return correlation(levels, from + more, speech.fingerprint.subarray(more)) > GOES_ON;
}

/** Pearson's, of the fingerprint with the levels from there on: loudness as such does not count. */
function correlation(levels: Float32Array, from: number, fingerprint: Uint8Array): number {
  let [count, sumA, sumB, squareA, squareB, product] = [0, 0, 0, 0, 0, 0];
  for (let index = Math.max(0, -from); index < fingerprint.length && from + index < levels.length; index++) {
    const a = levels[from + index] ?? 0;
    const b = (fingerprint[index] ?? 0) / 255;
    count++;
    sumA += a;
    sumB += b;
    squareA += a * a;
    squareB += b * b;
    product += a * b;
  }
  const spread = (squareA - (sumA * sumA) / count) * (squareB - (sumB * sumB) / count);
  return count < LEAST_STEPS || spread <= 0 ? 0 : (product - (sumA * sumB) / count) / Math.sqrt(spread);
}
