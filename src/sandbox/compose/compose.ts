import { playDrum, playNote } from './instruments.js';
import type { Drum, Note, Stereo } from './instruments.js';
import type { MusicPlan } from './plan.js';

export const MUSIC_RATE = 44_100;
const MAJOR = [0, 2, 4, 5, 7, 9, 11] as const;
const MINOR = [0, 2, 3, 5, 7, 8, 10] as const;
/** Degrees of the chords, a bar each. */
const MAJOR_SONGS: readonly [number[], ...number[][]] = [
  [0, 4, 5, 3],
  [0, 5, 3, 4],
  [0, 3, 4, 0],
  [0, 2, 3, 4],
];
const MINOR_SONGS: readonly [number[], ...number[][]] = [
  [0, 5, 2, 6],
  [0, 3, 4, 0],
  [0, 6, 5, 6],
  [0, 5, 3, 4],
];
const FADE_IN = 0.02;
const FADE_OUT = 1.6;

interface Hit {
  drum: Drum;
  start: number;
  velocity: number;
}

interface Score {
  notes: Note[];
  hits: Hit[];
}

/**
 * Plays a plan for exactly the given number of seconds.
 * @param onProgress 0 to 100, in proportion to the notes that are played
 */
export function compose(plan: MusicPlan, seconds: number, onProgress: (percent: number) => void): Stereo {
  const length = Math.round(seconds * MUSIC_RATE);
  const mix: Stereo = {
    left: new Float32Array(length),
    right: new Float32Array(length),
    sampleRate: MUSIC_RATE,
  };
  const { notes, hits } = writeScore(plan, seconds);
  notes.forEach((note, index) => {
    playNote(mix, note);
    if (index % 16 === 0) onProgress((index / notes.length) * 90);
  });
  for (const hit of hits) playDrum(mix, hit, plan.dice.next);
  addSpace(mix, 60 / plan.tempo);
  finish(mix, seconds);
  onProgress(100);
  return mix;
}

function writeScore(plan: MusicPlan, seconds: number): Score {
  const { tempo, beatsPerBar, dice, minor } = plan;
  const beat = 60 / tempo;
  const bars = Math.ceil(seconds / (beat * beatsPerBar));
  const chords = dice.pick(minor ? MINOR_SONGS : MAJOR_SONGS);
  const motifs = [writeMotif(plan), writeMotif(plan)];
  const score: Score = { notes: [], hits: [] };
  for (let bar = 0; bar < bars; bar++) {
    const start = bar * beat * beatsPerBar;
    const degree = chords[bar % chords.length] ?? 0;
    // A A B A, with the first bars bare.
    const motif = motifs[Math.floor(bar / 4) % 4 === 2 ? 1 : 0] ?? [];
    const opening = bar < 2 && bars > 6;
    score.notes.push(...chordNotes(plan, { degree, start, beat }));
    if (!opening || !plan.drums) score.notes.push(...leadNotes(plan, { degree, start, beat, motif, bar }));
    if (plan.bass && !opening) score.notes.push(...bassNotes(plan, { degree, start, beat }));
    if (plan.drums && !opening) score.hits.push(...drumHits(plan, start, beat));
  }
  return score;
}

interface Bar {
  degree: number;
  start: number;
  beat: number;
}

/** Steps of the scale against the chord, on the grid of half beats; null rests. */
type Motif = { at: number; length: number; step: number | null }[];

function writeMotif({ dice, energy, beatsPerBar }: MusicPlan): Motif {
  const motif: Motif = [];
  let step = dice.int(3) * 2;
  for (let at = 0; at < beatsPerBar;) {
    const length = dice.next() < energy * 0.75 ? 0.5 : dice.next() < 0.7 ? 1 : 2;
    step += dice.int(5) - 2;
    if (step < -3 || step > 8) step = dice.int(3) * 2;
    motif.push({ at, length: Math.min(length, beatsPerBar - at), step: dice.next() < 0.16 ? null : step });
    at += length;
  }
  return motif;
}

function pitchOf({ root, minor }: MusicPlan, degree: number, octave: number): number {
  const scale = minor ? MINOR : MAJOR;
  const within = ((degree % 7) + 7) % 7;
  return 12 * (octave + 1) + root + (scale[within] ?? 0) + 12 * Math.floor(degree / 7);
}

function chordNotes(plan: MusicPlan, { degree, start, beat }: Bar): Note[] {
  const held = plan.beatsPerBar * beat;
  return [0, 2, 4].map((third, index) => ({
    instrument: plan.pad,
    start,
    length: held * 0.96,
    pitch: pitchOf(plan, degree + third, 3),
    velocity: 0.16 + plan.energy * 0.08,
    pan: (index - 1) * 0.5,
  }));
}

function leadNotes(
  plan: MusicPlan,
  { degree, start, beat, motif, bar }: Bar & { motif: Motif; bar: number },
): Note[] {
  const lift = bar % 4 === 3 ? 1 : 0;
  return motif.flatMap(({ at, length, step }) =>
    step === null
      ? []
      : [
          {
            instrument: plan.lead,
            start: start + at * beat,
            length: length * beat * 0.92,
            pitch: pitchOf(plan, degree + step + (at > 1 ? lift : 0), 4),
            velocity: (0.3 + plan.energy * 0.16) * (at === 0 ? 1.1 : 0.92),
            pan: plan.pan,
          },
        ],
  );
}

function bassNotes(plan: MusicPlan, { degree, start, beat }: Bar): Note[] {
  const every = plan.energy > 0.8 ? 0.5 : plan.energy > 0.45 ? 1 : 2;
  return Array.from({ length: Math.ceil(plan.beatsPerBar / every) }, (_, index) => ({
    instrument: 'bass',
    start: start + index * every * beat,
    length: every * beat * 0.85,
    pitch: pitchOf(plan, degree + (index % 4 === 3 ? 4 : 0), 2),
    velocity: 0.36 + plan.energy * 0.1,
    pan: 0,
  }));
}

function drumHits({ beatsPerBar, energy }: MusicPlan, start: number, beat: number): Hit[] {
  const hits: Hit[] = [];
  for (let half = 0; half < beatsPerBar * 2; half++) {
    const at = start + (half * beat) / 2;
    const onBeat = half % 2 === 0;
    if (onBeat && (energy > 0.8 || half % 4 === 0)) hits.push({ drum: 'kick', start: at, velocity: 0.5 });
    if (onBeat && half % 4 === 2) hits.push({ drum: 'snare', start: at, velocity: 0.26 + energy * 0.12 });
    if (onBeat || energy > 0.5) hits.push({ drum: 'hat', start: at, velocity: onBeat ? 0.16 : 0.1 });
  }
  return hits;
}

/** Echoes that cross from side to side. */
function addSpace({ left, right, sampleRate }: Stereo, beat: number): void {
  const delay = Math.round(sampleRate * Math.min(0.4, beat * 0.75));
  for (let at = delay; at < left.length; at++) {
    const a = left[at - delay] ?? 0;
    const b = right[at - delay] ?? 0;
    left[at] = (left[at] ?? 0) + 0.2 * b;
    right[at] = (right[at] ?? 0) + 0.2 * a;
  }
}

/** One loudness for all pieces, with soft edges. */
export function finish({ left, right, sampleRate }: Stereo, seconds: number): void {
  let peak = 1e-6;
  for (let at = 0; at < left.length; at++)
    peak = Math.max(peak, Math.abs(left[at] ?? 0), Math.abs(right[at] ?? 0));
  const fadeIn = Math.round(FADE_IN * sampleRate);
  const fadeOut = Math.round(Math.min(FADE_OUT, seconds / 4) * sampleRate);
  for (let at = 0; at < left.length; at++) {
    const edge = Math.min(1, at / fadeIn, (left.length - 1 - at) / fadeOut);
    left[at] = ((left[at] ?? 0) * 0.89 * edge) / peak;
    right[at] = ((right[at] ?? 0) * 0.89 * edge) / peak;
  }
}
