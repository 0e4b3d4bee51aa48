import type { SpeechModelV4CallOptions } from '@ai-sdk/provider';
import type { SpeechCallOptions } from '../speech.types.js';

/**
 * Our speech call in the specification's words. MP3 is what every package knows; the caller is given the format asked for, which is made
 * of it where that is another.
 */
export function speechCallOf({
  text,
  voice,
  speed,
  language,
  abortSignal,
}: SpeechCallOptions): SpeechModelV4CallOptions {
  return {
    text,
    outputFormat: 'mp3',
    ...(voice === undefined ? {} : { voice }),
    ...(speed === undefined || speed === 1 ? {} : { speed }),
    ...(language === undefined ? {} : { language }),
    ...(abortSignal === undefined ? {} : { abortSignal }),
  };
}
