import { STEP_SECONDS } from './envelope.js';
import type { Envelope } from './envelope.js';

/** A stretch of speech, in seconds. */
export interface Span {
  start: number;
  end: number;
}

/** A shorter silence is a breath within a segment. */
const PAUSE_SECONDS = 0.24;
const SHORTEST_SECONDS = 0.12;
/** Loudness of a room in which nobody speaks. */
const SILENCE = 0.002;
const OF_LOUDEST = 0.04;
const OVER_NOISE = 2.5;

/** Finds the stretches of speech: louder than the room, without breaths and clicks. */
export function speechSpans({ levels, seconds }: Envelope, pauseSeconds = PAUSE_SECONDS): Span[] {
  const sorted = [...levels].sort((a, b) => a - b);
  const loudest = sorted[Math.floor(sorted.length * 0.98)] ?? 0;
  const noise = sorted[Math.floor(sorted.length * 0.1)] ?? 0;
  const threshold = Math.max(SILENCE, loudest * OF_LOUDEST, Math.min(noise * OVER_NOISE, loudest * 0.35));
  const spans: Span[] = [];
  levels.forEach((level, index) => {
    if (level < threshold) return;
    const start = index * STEP_SECONDS;
    const last = spans.at(-1);
    if (last !== undefined && start - last.end < pauseSeconds) last.end = start + STEP_SECONDS;
    else spans.push({ start, end: start + STEP_SECONDS });
  });
  return spans
    .filter(({ start, end }) => end - start >= SHORTEST_SECONDS)
    .map(({ start, end }) => ({ start, end: Math.min(end, seconds) }));
}
