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

/**
 * What a voice is made with: `quick` joins recorded sounds of one speaker (a tenth of the time), `natural` computes each moment, with a
 * speaker of its own for most presets.
 */
export type VoiceEngine = 'quick' | 'natural';

const SHAPES: Record<VoiceEngine, Record<PresetVoice, VoiceShape>> = {
  quick: {
    alloy: { voice: 'kal16', pitch: 116, formants: 1.02, pace: 1 },
    echo: { voice: 'kal16', pitch: 98, formants: 0.96, pace: 0.96 },
    fable: { voice: 'kal16', pitch: 140, formants: 1.08, pace: 1.04 },
    onyx: { voice: 'kal16', pitch: 78, formants: 0.88, pace: 1.06 },
    nova: { voice: 'kal16', pitch: 176, formants: 1.16, pace: 1 },
    shimmer: { voice: 'kal16', pitch: 214, formants: 1.22, pace: 0.95 },
  },
  natural: {
    alloy: { voice: 'kal16', pitch: 112, formants: 1, pace: 1 },
    echo: { voice: 'rms', pitch: 98, formants: 1, pace: 0.96 },
    fable: { voice: 'awb', pitch: 138, formants: 1.03, pace: 1 },
    onyx: { voice: 'rms', pitch: 76, formants: 0.92, pace: 1.05 },
    nova: { voice: 'slt', pitch: 176, formants: 1, pace: 1 },
    shimmer: { voice: 'slt', pitch: 214, formants: 1.08, pace: 0.95 },
  },
};

export function presetShape(voice: PresetVoice, engine: VoiceEngine): VoiceShape {
  return SHAPES[engine][voice];
}

/** A custom voice: the measurements of its speaker. */
export interface VoiceProfile {
  /** Mean pitch in Hz. */
  pitch: number;
  /** Characters of the given transcript in a second of speech; null if none was given. */
  charactersPerSecond: number | null;
}

/** Between the highest man's and the lowest woman's mean pitch. */
const HIGH_VOICE = 155;

/** How the speakers that imitate sound by themselves; their pace in characters a second, as {@link VoiceProfile} counts them. */
const NEAREST = {
  quick: {
    low: { voice: 'kal16', pitch: 116, usualPace: 25 },
    high: { voice: 'kal16', pitch: 116, usualPace: 25 },
  },
  natural: {
    low: { voice: 'rms', pitch: 105, usualPace: 17.5 },
    high: { voice: 'slt', pitch: 176, usualPace: 20 },
  },
} as const;

export function profileShape({ pitch, charactersPerSecond }: VoiceProfile, engine: VoiceEngine): VoiceShape {
  const usual = NEAREST[engine][pitch >= HIGH_VOICE ? 'high' : 'low'];
  const pace = charactersPerSecond === null ? 1 : usual.usualPace / charactersPerSecond;
  return {
    voice: usual.voice,
    pitch: clamp(pitch, 60, 400),
    formants: clamp((pitch / usual.pitch) ** 0.33, 0.85, 1.25),
    pace: clamp(pace, 0.6, 1.8),
  };
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
