export const LEADS = ['piano', 'guitar', 'strings', 'flute', 'organ', 'bell', 'brass', 'synth'] as const;
export type Instrument = (typeof LEADS)[number] | 'bass';

export function isLead(instrument: Instrument): boolean {
  return instrument !== 'bass';
}

interface Sound {
  /** Strength of each harmonic. */
  harmonics: readonly number[];
  attack: number;
  /** Seconds in which a struck note fades to a third; 0 holds it. */
  decay: number;
  release: number;
  /** Depth of vibrato, as a share of the pitch. */
  vibrato: number;
  gain: number;
}

const saw = (count: number, fall: number) =>
  Array.from({ length: count }, (_, index) => 1 / (index + 1) ** fall);

const SOUNDS: Record<Instrument, Sound> = {
  piano: { harmonics: saw(10, 1.6), attack: 0.004, decay: 0.9, release: 0.25, vibrato: 0, gain: 1 },
  guitar: { harmonics: saw(14, 1.15), attack: 0.003, decay: 0.55, release: 0.12, vibrato: 0.001, gain: 0.85 },
  strings: { harmonics: saw(12, 1.25), attack: 0.22, decay: 0, release: 0.35, vibrato: 0.005, gain: 0.6 },
  flute: {
    harmonics: [1, 0.25, 0.12, 0.03],
    attack: 0.07,
    decay: 0,
    release: 0.14,
    vibrato: 0.006,
    gain: 0.85,
  },
  organ: {
    harmonics: [1, 0.8, 0.5, 0.6, 0, 0.3, 0, 0.35],
    attack: 0.02,
    decay: 0,
    release: 0.1,
    vibrato: 0.002,
    gain: 0.5,
  },
  bell: {
    harmonics: [1, 0.05, 0.55, 0, 0.35, 0, 0, 0.25],
    attack: 0.002,
    decay: 0.7,
    release: 0.6,
    vibrato: 0,
    gain: 0.75,
  },
  brass: {
    harmonics: [0.8, 1, 0.85, 0.6, 0.42, 0.3, 0.2, 0.12],
    attack: 0.045,
    decay: 0,
    release: 0.1,
    vibrato: 0.003,
    gain: 0.6,
  },
  synth: { harmonics: saw(18, 0.95), attack: 0.008, decay: 0.8, release: 0.1, vibrato: 0.002, gain: 0.55 },
  bass: { harmonics: [1, 0.5, 0.22, 0.1], attack: 0.006, decay: 0.7, release: 0.08, vibrato: 0, gain: 1.1 },
};

const TABLE = 2048;
const tables = new Map<string, Float32Array>();

/** One period, without harmonics above half of the sample rate. */
function tableOf(instrument: Instrument, frequency: number, sampleRate: number): Float32Array {
  const count = Math.max(1, Math.min(18, Math.floor((sampleRate * 0.45) / frequency)));
  const key = `${instrument}:${count}`;
  const known = tables.get(key);
  if (known) return known;
  const table = new Float32Array(TABLE + 1);
  SOUNDS[instrument].harmonics.slice(0, count).forEach((strength, index) => {
    for (let at = 0; at <= TABLE; at++)
      table[at] = (table[at] ?? 0) + strength * Math.sin((2 * Math.PI * (index + 1) * at) / TABLE);
  });
  const peak = table.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
  for (let at = 0; at <= TABLE; at++) table[at] = (table[at] ?? 0) / peak;
  tables.set(key, table);
  return table;
}

export interface Note {
  instrument: Instrument;
  /** Seconds. */
  start: number;
  length: number;
  /** MIDI number: 60 is the middle C. */
  pitch: number;
  /** 0 to 1. */
  velocity: number;
  /** −1 left to 1 right. */
  pan: number;
}

export interface Stereo {
  left: Float32Array;
  right: Float32Array;
  sampleRate: number;
}

/** Adds a note to the mix. */
export function playNote({ left, right, sampleRate }: Stereo, note: Note): void {
  const { harmonics: _, attack, decay, release, vibrato, gain } = SOUNDS[note.instrument];
  const frequency = 440 * 2 ** ((note.pitch - 69) / 12);
  const table = tableOf(note.instrument, frequency, sampleRate);
  const from = Math.floor(note.start * sampleRate);
  const to = Math.min(left.length, Math.floor((note.start + note.length + release) * sampleRate));
  const leftGain = note.velocity * gain * Math.sqrt((1 - note.pan) / 2);
  const rightGain = note.velocity * gain * Math.sqrt((1 + note.pan) / 2);
  const step = (frequency * TABLE) / sampleRate;
  let phase = 0;
  for (let at = Math.max(0, from); at < to; at++) {
    const time = (at - from) / sampleRate;
    phase += step * (1 + vibrato * Math.sin(time * 33));
    if (phase >= TABLE) phase -= TABLE * Math.floor(phase / TABLE);
    const index = Math.floor(phase);
    const a = table[index] ?? 0;
    const rise = time < attack ? time / attack : 1;
    const fade = decay > 0 ? Math.exp(-time / decay) : 1;
    const end = time > note.length ? Math.max(0, 1 - (time - note.length) / release) : 1;
    const value = (a + ((table[index + 1] ?? 0) - a) * (phase - index)) * rise * fade * end;
    left[at] = (left[at] ?? 0) + value * leftGain;
    right[at] = (right[at] ?? 0) + value * rightGain;
  }
}

export type Drum = 'kick' | 'snare' | 'hat';

/** Adds a drum to the mix; `noise` gives values in [0, 1). */
export function playDrum(
  { left, right, sampleRate }: Stereo,
  { drum, start, velocity }: { drum: Drum; start: number; velocity: number },
  noise: () => number,
): void {
  const seconds = { kick: 0.28, snare: 0.18, hat: 0.06 }[drum];
  const from = Math.floor(start * sampleRate);
  const to = Math.min(left.length, from + Math.floor(seconds * sampleRate));
  let before = 0;
  let phase = 0;
  for (let at = from; at < to; at++) {
    const time = (at - from) / sampleRate;
    const white = noise() * 2 - 1;
    const high = white - before;
    before = white;
    phase += (2 * Math.PI * (45 + 110 * Math.exp(-time * 30))) / sampleRate;
    const value =
      drum === 'kick'
        ? Math.sin(phase) * Math.exp(-time * 14)
        : drum === 'snare'
          ? (white * 0.6 + Math.sin(2 * Math.PI * 185 * time) * 0.4) * Math.exp(-time * 24)
          : high * 0.4 * Math.exp(-time * 80);
    left[at] = (left[at] ?? 0) + value * velocity;
    right[at] = (right[at] ?? 0) + value * velocity;
  }
}
