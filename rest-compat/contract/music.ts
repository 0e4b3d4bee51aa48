import { MUSIC_FORMS } from '../shared/openapi/variants.js';
import type { Route } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';
import { describeObjectGeneration, generationAnswer } from './generation.js';

export const musicRoutes: Route[] = [
  {
    method: 'POST',
    path: '/music/generations',
    operationId: 'generateMusic',
    tag: 'Audio',
    summary: 'Generate music from a text or a recording',
    description: 'With `?async=true`, which is recommended, the answer is the job that makes it.',
    document: `mutation ($input: GenerateMusicInput!, $async: Boolean = false) {
      body: generateMusic(input: $input, async: $async) {
        job { id status estimated_credits: estimatedCredits }
        created
        data { audio_url: audioUrl duration_seconds: durationSeconds }
        model
        model_tier: modelTier
        usage { tracks_used: tracksUsed quota_multiplier: quotaMultiplier tracks_remaining: tracksRemaining }
      }
    }`,
    parameters: { async: { description: 'True: the answer is the job, at once.' } },
    body: {
      limitBytes: BODY_LIMITS.large,
      rules: MUSIC_FORMS,
      example: { prompt: 'Calm piano in C major, 80 bpm', duration_seconds: 20 },
    },
    respond: generationAnswer([]),
    describe: describeObjectGeneration,
    schemaName: 'MusicGeneration',
  },
];
