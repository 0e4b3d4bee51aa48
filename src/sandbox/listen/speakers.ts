import { median } from '../sound/pitch.js';
import { pitchesBetween } from './envelope.js';
import type { Envelope } from './envelope.js';
import type { Span } from './spans.js';

export interface Turn extends Span {
  /** From 0, in the order of their first words. */
  speaker: number;
}

/** Voices nearer than this (in semitones) count as one. */
const APART = 3.2;
const MAX_SPEAKERS = 8;
/** The number of measured pitches that identify a voice. */
const STEADY = 8;
const WINDOW_SECONDS = 0.6;

const semitones = (pitch: number): number => 12 * Math.log2(pitch / 100);

/** Tells speakers apart by the pitch of their voices; a span in which the voice changes becomes two turns. */
export function turnsOf(envelope: Envelope, spans: readonly Span[]): Turn[] {
  const parts = spans.flatMap((span) => splitAtChange(envelope, span));
  const voices = parts.map(({ start, end }) => pitchesBetween(envelope, start, end).map(semitones));
  const centres = centresOf(voices);
  let before = 0;
  const nearest = voices.map((voice) => {
    if (voice.length > 0) before = speakerOf(centres, voice);
    return before;
  });
  const order = [...new Set(nearest)];
  return joinedTurns(parts.map((span, index) => ({ ...span, speaker: order.indexOf(nearest[index] ?? 0) })));
}

/** The voices are found from stretches that are long enough; a word or two become a voice of their own only if they match no other. */
function centresOf(voices: readonly (readonly number[])[]): number[] {
  const heightsOf = (some: readonly (readonly number[])[]) =>
    some.map(median).filter((height) => height !== null);
  const steady = voices.filter((voice) => voice.length >= STEADY);
  const known = clusters(heightsOf(steady));
  const strange = voices.filter(
    (voice) => voice.length < STEADY && !known.some((centre) => likeTo(centre, voice) > 0),
  );
  return clusters(heightsOf([...steady, ...strange]));
}

/** The number of a voice's pitches that are near a pitch. */
const likeTo = (centre: number, voice: readonly number[]): number =>
  voice.filter((height) => Math.abs(height - centre) < APART).length;

/** With few sounds, some are measured wrongly: the majority decides instead of the median. */
function speakerOf(centres: readonly number[], voice: readonly number[]): number {
  const nearest = nearestOf(centres, median(voice) ?? 0);
  if (voice.length >= STEADY) return nearest;
  const similarities = centres.map((centre) => likeTo(centre, voice));
  const most = Math.max(...similarities);
  return similarities[nearest] === most ? nearest : similarities.indexOf(most);
}

/** Where the median of what follows is another voice than that of what was before, for a while on both sides. */
function splitAtChange(envelope: Envelope, span: Span): Span[] {
  const cuts: number[] = [];
  let from = span.start;
  for (let at = span.start + WINDOW_SECONDS; at + WINDOW_SECONDS <= span.end; at += WINDOW_SECONDS / 3) {
    if (at - from < WINDOW_SECONDS) continue;
    const before = median(pitchesBetween(envelope, Math.max(from, at - 2 * WINDOW_SECONDS), at));
    const after = median(pitchesBetween(envelope, at, at + 2 * WINDOW_SECONDS));
    if (before === null || after === null || Math.abs(semitones(before) - semitones(after)) < APART + 1.5)
      continue;
    cuts.push(at);
    from = at;
  }
  const edges = [span.start, ...cuts, span.end];
  return edges.slice(1).map((end, index) => ({ start: edges[index] ?? span.start, end }));
}

/** Clusters of pitches, as their means. */
function clusters(heights: readonly number[]): number[] {
  let groups = [...heights].sort((a, b) => a - b).map((height) => [height]);
  const mean = (group: readonly number[]) => group.reduce((sum, value) => sum + value, 0) / group.length;
  while (groups.length > 1) {
    let closest = 0;
    let distance = Number.POSITIVE_INFINITY;
    for (let index = 0; index + 1 < groups.length; index++) {
      const gap = mean(groups[index + 1] ?? []) - mean(groups[index] ?? []);
      if (gap < distance) [closest, distance] = [index, gap];
    }
    if (distance >= APART && groups.length <= MAX_SPEAKERS) break;
    const merged = [...(groups[closest] ?? []), ...(groups[closest + 1] ?? [])];
    groups = [...groups.slice(0, closest), merged, ...groups.slice(closest + 2)];
  }
  return groups.map(mean);
}

function nearestOf(centres: readonly number[], height: number): number {
  let best = 0;
  centres.forEach((centre, index) => {
    if (Math.abs(centre - height) < Math.abs((centres[best] ?? 0) - height)) best = index;
  });
  return best;
}

/** Parts of one span that turned out to be one speaker's are one turn again. */
function joinedTurns(turns: readonly Turn[]): Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last !== undefined && last.speaker === turn.speaker && last.end === turn.start) last.end = turn.end;
    else joined.push({ ...turn });
  }
  return joined;
}
