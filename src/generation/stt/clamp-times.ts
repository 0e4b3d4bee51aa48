import type { TranscribedSegment, Transcription } from '../../providers/stt.types.js';

/**
 * What was heard, with each time inside the sound, no end before its start, and in order of their starts: upstreams tell of times that are none, and subtitles are
 * made from them. A time that is no number is that of what came before.
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
