import { EXAMPLE_IMAGE } from '../shared/openapi/examples.js';
import { EDIT_FORMS } from '../shared/openapi/variants.js';
import type { Route } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';
import { describeGeneration, generationAnswer } from './generation.js';

export const imageEditRoutes: Route[] = [
  {
    method: 'POST',
    path: '/images/edits',
    operationId: 'editImage',
    tag: 'Images',
    summary: 'Edit an image',
    description:
      'Inpainting, outpainting, background removal and replacement, object removal, super resolution, face enhancement, colorization, style transfer. With `?async=true` the answer is the job that does it.',
    document: `mutation ($input: EditImageInput!, $async: Boolean = false) {
      body: editImage(input: $input, async: $async) {
        job { id status estimated_credits: estimatedCredits }
        created
        data { url width height }
        model
        model_tier: modelTier
        usage {
          edits_used: editsUsed quota_multiplier: quotaMultiplier edits_remaining: editsRemaining
          input_tokens: inputTokens output_tokens: outputTokens total_tokens: totalTokens
        }
      }
    }`,
    parameters: { async: { description: 'True: the answer is the job, at once.' } },
    body: {
      limitBytes: BODY_LIMITS.edits,
      rules: EDIT_FORMS,
      example: { image: EXAMPLE_IMAGE, operation: 'superResolution', scale: 2 },
    },
    respond: generationAnswer([]),
    describe: describeGeneration,
    schemaName: 'ImageEdit',
  },
];
