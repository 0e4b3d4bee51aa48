import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import { isFields } from '../predictions/api-client.js';
import type { Fields } from '../predictions/api-client.js';
import type { NativeProvider } from './native-provider.types.js';
import { wordsIn } from './spoken-words.js';

/** Models that take a voice. Any longer name (`aura-2-thalia-en`) is a voice itself. */
const FAMILIES = /^aura(-2)?$/;

const hasResults = (body: unknown): body is { results: Fields } =>
  isFields(body) && isFields(body['results']);

/** The most likely transcript of the first channel. */
function bestOf({ channels }: Fields): unknown {
  const channel: unknown = Array.isArray(channels) ? channels[0] : undefined;
  return isFields(channel) && Array.isArray(channel['alternatives']) ? channel['alternatives'][0] : undefined;
}

/** Deepgram. */
export const deepgram: NativeProvider = {
  id: 'deepgram',
  variables: ['DEEPGRAM_API_KEY'],
  baseUrl: () => 'https://api.deepgram.com',
  keyHeader: { name: 'authorization', prefix: 'Token ' },
  probe: { path: '/v1/projects', headers: (apiKey) => ({ authorization: `Token ${apiKey}` }) },
  convention: false,
  outputCap: 'max_tokens',
  types: ['tts', 'stt'],
  package: {
    load: async (settings) => (await import('@ai-sdk/deepgram')).createDeepgram(settings),
    does: ['tts', 'stt'],
    builtIn: ['https://api.deepgram.com'],
  },
  tts: {
    presets: {
      alloy: 'thalia',
      echo: 'apollo',
      fable: 'arcas',
      onyx: 'zeus',
      nova: 'andromeda',
      shimmer: 'luna',
    },
    speed: { min: 1, max: 1 },
    isVoice: (modelId) => !FAMILIES.test(modelId),
  },
  stt: {
    settings: ({ language, diarization }) => ({
      ...(language === null ? { detectLanguage: true } : { language }),
      punctuate: true,
      ...(diarization ? { diarize: true } : {}),
    }),
    words: (body) => (hasResults(body) ? wordsIn(bestOf(body.results)) : []),
    check(body) {
      // Its package reads any other object as silence.
      if (!hasResults(body)) throw brokenAnswer('no transcript');
    },
  },
};
