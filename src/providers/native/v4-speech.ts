import type { SpeechModelV4CallOptions } from '@ai-sdk/provider';
import type { SpeechCallOptions, TtsModel } from '../tts.types.js';
import type { LeftOut } from '../openai-compatible/optional-fields.js';
import type { TtsWays } from './native-provider.types.js';

/** What a model can be asked for. */
export function speechCapabilities(
  { isVoice, presets, speed, names }: TtsWays,
  modelId: string,
): TtsModel['capabilities'] {
  return {
    // All names, or the contract's default alone, which asks for nothing.
    voices: isVoice?.(modelId) === true ? ['nova'] : null,
    referenceAudio: false,
    modelInputs: [],
    ...(presets === undefined ? {} : { presets: Object.keys(presets) }),
    ...(speed === undefined ? {} : { speed }),
    ...(names === undefined ? {} : { isVoice: (name: string) => names.test(name) }),
  };
}

/** The provider's voice that one of the six stands for; any other name is its own. */
function voiceOf({ presets = {} }: TtsWays, asked: string): string {
  return (Object.hasOwn(presets, asked) ? presets[asked] : undefined) ?? asked;
}

/**
 * Our speech call in the specification's words. MP3 is what every package knows; the caller is given the format asked for, which is made
 * of it where that is another.
 */
export function speechCallOf(
  ways: TtsWays,
  modelId: string,
  { text, voice: asked, speed, language, abortSignal, without }: SpeechCallOptions & { without: LeftOut },
): SpeechModelV4CallOptions {
  const voice = asked === undefined || ways.isVoice?.(modelId) === true ? undefined : voiceOf(ways, asked);
  return {
    text,
    // Packages have a format of their own where they are given none, and send none where it is empty.
    outputFormat: without.has('response_format') ? '' : 'mp3',
    ...(voice === undefined ? {} : { voice }),
    ...(speed === undefined || speed === 1 ? {} : { speed }),
    ...(language === undefined ? {} : { language }),
    ...(abortSignal === undefined ? {} : { abortSignal }),
  };
}
