import { VIDEO_FORMS } from '../shared/openapi/variants.js';
import type { Route } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';
import { describeObjectGeneration, generationAnswer } from './generation.js';

export const videoRoutes: Route[] = [
  {
    method: 'POST',
    path: '/videos/generations',
    operationId: 'generateVideo',
    tag: 'Videos',
    summary: 'Generate a video from a text, an image or a video',
    description: 'With `?async=true` (recommended) the answer is the job that makes it.',
    document: `mutation ($input: GenerateVideoInput!, $async: Boolean = false) {
      body: generateVideo(input: $input, async: $async) {
        job { id status estimated_credits: estimatedCredits }
        created
        data { url duration_seconds: durationSeconds width height }
        model
        model_tier: modelTier
        usage { credits_used: creditsUsed seconds_used: secondsUsed seconds_remaining: secondsRemaining }
      }
    }`,
    parameters: { async: { description: 'True: the answer is the job, at once.' } },
    body: {
      limitBytes: BODY_LIMITS.large,
      rules: VIDEO_FORMS,
      example: { prompt: 'Waves on a beach at sunset', duration_seconds: 5, resolution: '720p' },
    },
    respond: generationAnswer([]),
    describe: describeObjectGeneration,
    schemaName: 'VideoGeneration',
  },
];
