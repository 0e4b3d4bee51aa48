import type { FliteRequest } from './flite.js';

/** How a voice is made: an engine voice, its mean pitch, the size of the throat, and its pace. */
export interface VoiceShape {
  voice: FliteRequest['voice'];
  /** Hz as it is heard. */
  pitch: number;
  /** Factor on all formants: above 1 a smaller speaker, below 1 a larger one. */
  formants: number;
  /** Factor on all durations. */
  pace: number;
}

/** The preset voices (contract 4.6). */
export const PRESET_VOICES = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'] as const;
export type PresetVoice = (typeof PRESET_VOICES)[number];

const SHAPES: Record<PresetVoice, VoiceShape> = {
  alloy: { voice: 'kal16', pitch: 112, formants: 1, pace: 1 },
  echo: { voice: 'rms', pitch: 98, formants: 1, pace: 0.96 },
  fable: { voice: 'awb', pitch: 138, formants: 1.03, pace: 1 },
  onyx: { voice: 'rms', pitch: 76, formants: 0.92, pace: 1.05 },
  nova: { voice: 'slt', pitch: 176, formants: 1, pace: 1 },
  shimmer: { voice: 'slt', pitch: 214, formants: 1.08, pace: 0.95 },
};

export function presetShape(voice: PresetVoice): VoiceShape {
  return SHAPES[voice];
}

/** A custom voice: what was heard of its speaker. */
export interface Likeness {
  /** Mean pitch in Hz. */
  pitch: number;
  /** Characters of the given transcript in a second of speech; null where none was given. */
  charactersPerSecond: number | null;
}

/** Between the highest man's and the lowest woman's mean pitch. */
const HIGH_VOICE = 155;
/** What the engine's own pace is. */
const USUAL_PACE = 15;

export function likenessShape({ pitch, charactersPerSecond }: Likeness): VoiceShape {
  const high = pitch >= HIGH_VOICE;
  const usual = high ? 176 : 105;
  const pace = charactersPerSecond === null ? 1 : USUAL_PACE / charactersPerSecond;
  return {
    voice: high ? 'slt' : 'rms',
    pitch: clamp(pitch, 60, 400),
    formants: clamp((pitch / usual) ** 0.33, 0.85, 1.2),
    pace: clamp(pace, 0.75, 1.35),
  };
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
