import type { MusicModel } from '../music.types.js';
import type { ApiClient } from '../predictions/api-client.js';
import type { NativeProvider } from './native-provider.types.js';
import { wordsIn } from './spoken-words.js';

/** The limits of its music API, in seconds. */
const SHORTEST = 3;
const LONGEST = 60;

/** Its music, read as a stream: the first bytes come long before the last. */
function createMusic(api: ApiClient, modelId: string): MusicModel {
  return {
    capabilities: {
      textToMusic: true,
      audioToAudio: false,
      negativePrompt: false,
      durations: { min: SHORTEST, max: LONGEST },
      modelInputs: ['force_instrumental'],
    },
    async generate({ prompt, durationSeconds, modelInputs, signal }) {
      const body = {
        ...modelInputs,
        prompt,
        music_length_ms: Math.round(durationSeconds * 1000),
        model_id: modelId,
      };
      const path = '/v1/music/stream?output_format=mp3_44100_128';
      return { bytes: await api.bytes({ method: 'POST', path, body, signal }), durationSeconds: null };
    },
  };
}

/** ElevenLabs. */
export const elevenlabs: NativeProvider = {
  id: 'elevenlabs',
  variables: ['ELEVENLABS_API_KEY'],
  baseUrl: () => 'https://api.elevenlabs.io',
  keyHeader: { name: 'xi-api-key', prefix: '' },
  probe: { path: '/v1/models' },
  convention: false,
  outputCap: 'max_tokens',
  types: ['music', 'tts', 'stt'],
  aliases: { 'elevenlabs/music-v1': 'music_v1' },
  package: {
    load: async (settings) => (await import('@ai-sdk/elevenlabs')).createElevenLabs(settings),
    does: ['tts', 'stt'],
    builtIn: ['https://api.elevenlabs.io'],
  },
  music: createMusic,
  tts: {
    presets: {
      alloy: 'EXAVITQu4vr4xnSDxMaL',
      echo: 'pNInz6obpgDQGcFmaJgB',
      fable: 'JBFqnCBsd6RMkjVDRZzb',
      onyx: 'nPczCjzI2devNBz1zQrb',
      nova: 'Xb7hH8MSUJpSbSDYk0k2',
      shimmer: 'pFZP5JQG7iQjIQuC4Bku',
    },
    speed: { min: 0.7, max: 1.2 },
    names: /^[\w-]+$/,
    livePath: (path) => `${path}/stream`,
  },
  stt: {
    settings: ({ language, diarization }) => ({
      ...(language === null ? {} : { languageCode: language }),
      diarize: diarization,
      timestampsGranularity: 'word',
    }),
    words: wordsIn,
  },
};
