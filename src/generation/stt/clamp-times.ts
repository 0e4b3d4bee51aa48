import type { TranscribedSegment, Transcription } from '../../providers/stt.types.js';

/**
 * Clamps the times of a transcription to the audio's duration, with no end before its start, in order of their starts. Upstreams send invalid
 * times, and subtitles are made from them. A time that is not a number becomes the time before it.
 */
export function clampTimes(heard: Transcription, durationSeconds: number): Transcription {
  const place = (time: number, otherwise: number): number =>
    Number.isFinite(time) ? Math.min(Math.max(time, 0), durationSeconds) : otherwise;
  const bounded = <T extends { start: number; end: number }>(part: T, before: number): T => {
    const start = place(part.start, before);
    return { ...part, start, end: Math.max(start, place(part.end, start)) };
  };
  let before = 0;
  const segments = heard.segments.map((segment): TranscribedSegment => {
    const placed = bounded(segment, before);
    before = placed.end;
    let spoken = placed.start;
    const words = segment.words?.map((word) => {
      const inside = bounded(word, spoken);
      spoken = inside.end;
      return inside;
    });
    return { ...placed, words: words ?? null };
  });
  return { ...heard, segments: segments.toSorted((a, b) => a.start - b.start) };
}
