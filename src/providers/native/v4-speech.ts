import type { SpeechModelV4CallOptions } from '@ai-sdk/provider';
import type { SpeechCallOptions, TtsModel } from '../tts.types.js';
import type { LeftOut } from '../openai-compatible/optional-fields.js';
import type { TtsWays } from './native-provider.types.js';

/** The capabilities of a model. */
export function speechCapabilities(
  { isVoice, presets, speed, names }: TtsWays,
  modelId: string,
): TtsModel['capabilities'] {
  return {
    // All names; or, if the model is itself one voice, only the contract's default.
    voices: isVoice?.(modelId) === true ? ['nova'] : null,
    referenceAudio: false,
    modelInputs: [],
    ...(presets === undefined ? {} : { presets: Object.keys(presets) }),
    ...(speed === undefined ? {} : { speed }),
    ...(names === undefined ? {} : { isVoice: (name: string) => names.test(name) }),
  };
}

/** The provider's voice for one of the contract's six; any other name is the provider's own. */
function voiceOf({ presets = {} }: TtsWays, requested: string): string {
  return (Object.hasOwn(presets, requested) ? presets[requested] : undefined) ?? requested;
}

/** Converts our speech call to the AI SDK's. It asks for MP3, which every package supports; Penstock converts that to the requested format. */
export function speechCallOf(
  ways: TtsWays,
  modelId: string,
  { text, voice: requested, speed, language, abortSignal, without }: SpeechCallOptions & { without: LeftOut },
): SpeechModelV4CallOptions {
  const voice =
    requested === undefined || ways.isVoice?.(modelId) === true ? undefined : voiceOf(ways, requested);
  return {
    text,
    // Without a format packages send their default; with an empty one they send none.
    outputFormat: without.has('response_format') ? '' : 'mp3',
    ...(voice === undefined ? {} : { voice }),
    ...(speed === undefined || speed === 1 ? {} : { speed }),
    ...(language === undefined ? {} : { language }),
    ...(abortSignal === undefined ? {} : { abortSignal }),
  };
}
