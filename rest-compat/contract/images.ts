import { randomUUID } from 'node:crypto';
import type { Route, RouteAnswer } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';
import { withOptional } from '../shared/openapi/json-schema.js';
import { describeGeneration, generationAnswer } from './generation.js';

/** `url` or `b64_json`, as requested. */
const OPTIONAL = ['url', 'b64_json', 'revised_prompt'];

const answerWithUrls = generationAnswer(OPTIONAL);

/** Writes the answer without JSON.stringify, because base64 files may together exceed the maximum length of a JavaScript string. Each file is copied once. */
export function answerWithFiles(body: Record<string, unknown>): RouteAnswer {
  const { body: shown, ...answer } = answerWithUrls(body);
  const files: string[] = [];
  const mark = randomUUID();
  const around = JSON.stringify(shown, (name, value: unknown) => {
    if (name !== 'b64_json' || typeof value !== 'string') return value;
    files.push(value);
    return mark;
  }).split(mark);
  const length = around.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  const bytes = Buffer.allocUnsafe(files.reduce((sum, file) => sum + file.length, length));
  let end = 0;
  for (const [i, piece] of around.entries()) {
    end += bytes.write(piece, end);
    end += bytes.write(files[i] ?? '', end, 'latin1');
  }
  return { body: bytes, ...answer };
}

export const imageRoutes: Route[] = [
  {
    method: 'POST',
    path: '/images/generations',
    operationId: 'generateImage',
    tag: 'Images',
    summary: 'Generate images from a text',
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
          input_tokens: inputTokens output_tokens: outputTokens total_tokens: totalTokens
        }
      }
    }`,
    parameters: { async: { description: 'True: the answer is the job, at once.' } },
    body: {
      limitBytes: BODY_LIMITS.large,
      example: { prompt: 'A red fox in the snow', size: '1024x1024', n: 1 },
    },
    respond: (body, { requestFields }) =>
      requestFields['response_format'] === 'b64_json' ? answerWithFiles(body) : answerWithUrls(body),
    describe: (schema) => withOptional(describeGeneration(schema), OPTIONAL),
    schemaName: 'ImageGeneration',
  },
];
