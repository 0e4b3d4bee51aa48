import type { SpeechModelV4CallOptions } from '@ai-sdk/provider';
import type { SpeechCallOptions } from '../speech.types.js';
import type { NativeKind } from './kinds.js';

/** The contract's presets (contract 4.6) as voices that every account there has; other names are the provider's own ids. */
const PRESETS: Partial<Record<NativeKind, Readonly<Record<string, string>>>> = {
  elevenlabs: {
    alloy: 'EXAVITQu4vr4xnSDxMaL',
    echo: 'pNInz6obpgDQGcFmaJgB',
    fable: 'JBFqnCBsd6RMkjVDRZzb',
    onyx: 'nPczCjzI2devNBz1zQrb',
    nova: 'Xb7hH8MSUJpSbSDYk0k2',
    shimmer: 'pFZP5JQG7iQjIQuC4Bku',
  },
  google: {
    alloy: 'Zephyr',
    echo: 'Puck',
    fable: 'Charon',
    onyx: 'Fenrir',
    nova: 'Kore',
    shimmer: 'Leda',
  },
  deepgram: {
    alloy: 'thalia',
    echo: 'apollo',
    fable: 'arcas',
    onyx: 'zeus',
    nova: 'andromeda',
    shimmer: 'luna',
  },
};

/** Speeds that a provider can be asked for, where they are fewer than the contract's. */
const SPEEDS: Partial<Record<NativeKind, { min: number; max: number }>> = {
  elevenlabs: { min: 0.7, max: 1.2 },
  deepgram: { min: 1, max: 1 },
  google: { min: 1, max: 1 },
};

/** Deepgram's families take a voice; any longer name (`aura-2-thalia-en`) is one voice itself. */
const FAMILIES = /^aura(-2)?$/;
const isVoice = (kind: NativeKind, modelId: string): boolean =>
  kind === 'deepgram' && !FAMILIES.test(modelId);

/** Names of voices that a model can be asked for: all (null), or the contract's default alone, which asks for nothing. */
export const voicesOf = (kind: NativeKind, modelId: string): readonly string[] | null =>
  isVoice(kind, modelId) ? ['nova'] : null;

/** The provider's voice that one of the six stands for; any other name is its own. */
function voiceOf(kind: NativeKind, asked: string): string {
  const presets = PRESETS[kind] ?? {};
  return (Object.hasOwn(presets, asked) ? presets[asked] : undefined) ?? asked;
}

/** The form of names that stand in an upstream's path, where any other would lead to another of its endpoints. */
const NAMES: Partial<Record<NativeKind, RegExp>> = { elevenlabs: /^[\w-]+$/ };

/** For the capabilities. */
export function namesOf(kind: NativeKind): { isVoice?: (name: string) => boolean } {
  const form = NAMES[kind];
  return form === undefined ? {} : { isVoice: (name) => form.test(name) };
}

/** For the capabilities. */
export function speedOf(kind: NativeKind): { speed?: { min: number; max: number } } {
  const speed = SPEEDS[kind];
  return speed === undefined ? {} : { speed };
}

/**
 * Our speech call in the specification's words. MP3 is what every package knows; the caller is given the format asked for, which is made
 * of it where that is another.
 */
export function speechCallOf(
  { kind, modelId }: { kind: NativeKind; modelId: string },
  { text, voice: asked, speed, language, abortSignal }: SpeechCallOptions,
): SpeechModelV4CallOptions {
  const voice = asked === undefined || isVoice(kind, modelId) ? undefined : voiceOf(kind, asked);
  return {
    text,
    outputFormat: 'mp3',
    ...(voice === undefined ? {} : { voice }),
    ...(speed === undefined || speed === 1 ? {} : { speed }),
    ...(language === undefined ? {} : { language }),
    ...(abortSignal === undefined ? {} : { abortSignal }),
  };
}
