import type { KnownSpeech } from '../audio.types.js';
import type { Samples } from '../voice/flite.js';
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
/** So few steps are no speech to be told from others. */
const LEAST_STEPS = 15;
/** A first look, then a thorough one. */
const GLANCE_STEPS = 75;
const GLANCE = 0.7;
/** Codecs leave 0.95 and more; other words in the same voice reach 0.6. */
const SURE = 0.88;
/** Encoders put up to a tenth of a second in front. */
const SLACK_STEPS = 6;
/** Pauses between two speeches are short. */
const ANCHOR_PAUSE_SECONDS = 0.1;
const MOST_ANCHORS = 3000;

/** Louder steps do not outweigh the many softer ones. */
const compress = (level: number): number => Math.sqrt(Math.min(1, level));

export function printOf({ pcm, sampleRate }: Samples): Uint8Array {
  const levels = levelsOf(
    pcm.subarray(0, Math.ceil((PRINT_STEPS / STEPS_PER_SECOND) * sampleRate)),
    sampleRate,
  );
  return Uint8Array.from(levels.slice(0, PRINT_STEPS), (level) => Math.round(255 * compress(level)));
}

/** Finds known speeches in a recording, each at most once at a place, in their order. */
export function recognize(envelope: Envelope, known: readonly KnownSpeech[]): Recognized[] {
  if (known.length === 0) return [];
  const levels = Float32Array.from(envelope.levels, compress);
  const candidates = known.flatMap(candidateOf);
  const found: Recognized[] = [];
  for (const { start } of speechSpans(envelope, ANCHOR_PAUSE_SECONDS).slice(0, MOST_ANCHORS)) {
    if (start < (found.at(-1)?.end ?? 0)) continue;
    const best = bestAt(levels, Math.round(start * STEPS_PER_SECOND), candidates);
    if (best !== null) found.push(best);
  }
  return found;
}

interface Candidate {
  speech: KnownSpeech;
  /** First step that is no silence. */
  onset: number;
}

/** Where a known speech begins to be heard, found as in the recording itself. */
function candidateOf(speech: KnownSpeech): Candidate[] {
  const levels = Array.from(speech.print, (level) => (level / 255) ** 2);
  const [first] = speechSpans({ levels, pitches: [], seconds: speech.seconds }, ANCHOR_PAUSE_SECONDS);
  const onset = first === undefined ? levels.length : Math.round(first.start * STEPS_PER_SECOND);
  return levels.length - onset < LEAST_STEPS ? [] : [{ speech, onset }];
}

function bestAt(levels: Float32Array, anchor: number, candidates: readonly Candidate[]): Recognized | null {
  let best: Recognized | null = null;
  let likeness = SURE;
  for (const { speech, onset } of candidates) {
    const length = speech.seconds * STEPS_PER_SECOND;
    for (let at = anchor - onset - SLACK_STEPS; at <= anchor - onset + SLACK_STEPS; at++) {
      // What was cut short is not all that was said.
      if (at + onset < 0 || at + length > levels.length + SLACK_STEPS) continue;
      if (correlation(levels, at, speech.print.subarray(0, onset + GLANCE_STEPS)) < GLANCE) continue;
      const found = correlation(levels, at, speech.print);
      if (found <= likeness) continue;
      likeness = found;
      best = {
        text: speech.text,
        start: Math.max(0, at / STEPS_PER_SECOND),
        end: (at + length) / STEPS_PER_SECOND,
      };
    }
  }
  return best;
}

/** Pearson's, of the print with the levels from there on: loudness as such does not count. */
function correlation(levels: Float32Array, from: number, print: Uint8Array): number {
  let [count, sumA, sumB, squareA, squareB, product] = [0, 0, 0, 0, 0, 0];
  for (let index = Math.max(0, -from); index < print.length && from + index < levels.length; index++) {
    const a = levels[from + index] ?? 0;
    const b = (print[index] ?? 0) / 255;
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
