import type { Route } from '../route.types.js';
import { BODY_LIMITS } from '../route.types.js';
import { withOptional } from '../openapi/json-schema.js';
import { describeGeneration, generationAnswer } from './generation.js';

/** `url` or `b64_json`, as asked for. */
const OPTIONAL = ['url', 'b64_json', 'revised_prompt'];

export const imageRoutes: Route[] = [
  {
    method: 'POST',
    path: '/images/generations',
    operationId: 'generateImage',
    tag: 'Images',
    summary: 'Make images from a text',
    description: 'With `?async=true` the answer is the job that makes them.',
    document: `mutation ($input: GenerateImageInput!, $async: Boolean = false) {
      body: generateImage(input: $input, async: $async) {
        job { id status estimated_credits: estimatedCredits }
        created
        data { url b64_json: b64Json revised_prompt: revisedPrompt width height }
        model
        model_tier: modelTier
        usage {
          credits_used: creditsUsed credits_breakdown: creditsBreakdown { base }
          generations_used: generationsUsed generations_remaining: generationsRemaining
        }
      }
    }`,
    parameters: { async: { description: 'True answers at once with the job.' } },
    body: {
      limitBytes: BODY_LIMITS.large,
      example: { prompt: 'A red fox in the snow', size: '1024x1024', n: 1 },
    },
    respond: generationAnswer(OPTIONAL),
    describe: (schema) => withOptional(describeGeneration(schema), OPTIONAL),
    schemaName: 'ImageGeneration',
  },
];
