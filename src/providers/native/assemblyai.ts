import { requestBelow } from './held-orders.js';
import type { NativeProvider } from './native-provider.types.js';
import { wordsIn } from './spoken-words.js';

/** Its times are in milliseconds. */
const MILLISECONDS = 1000;

/** AssemblyAI. */
export const assemblyai: NativeProvider = {
  id: 'assemblyai',
  variables: ['ASSEMBLYAI_API_KEY'],
  baseUrl: () => 'https://api.assemblyai.com',
  keyHeader: { name: 'authorization', prefix: '' },
  probe: { path: '/v2/transcript?limit=1', headers: (apiKey) => ({ authorization: apiKey }) },
  convention: false,
  outputCap: 'max_tokens',
  types: ['stt'],
  package: {
    load: async (settings) => (await import('@ai-sdk/assemblyai')).createAssemblyAI(settings),
    does: ['stt'],
    builtIn: ['https://api.assemblyai.com'],
  },
  orders: { withdraw: requestBelow('DELETE', (id) => `/v2/transcript/${id}`) },
  stt: {
    settings: ({ language, diarization }) => ({
      ...(language === null ? { languageDetection: true } : { languageCode: language }),
      ...(diarization ? { speakerLabels: true } : {}),
    }),
    words: (body) => wordsIn(body, MILLISECONDS),
  },
};
