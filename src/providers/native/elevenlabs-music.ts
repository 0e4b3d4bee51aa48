import type { MusicModel } from '../music.types.js';
import type { ApiClient } from '../predictions/api-client.js';

/** What its API takes, seconds. */
const SHORTEST = 3;
const LONGEST = 60;

/** Music of ElevenLabs, as it comes: its first bytes are there long before its last. */
export function createElevenLabsMusic(api: ApiClient, modelId: string): MusicModel {
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
