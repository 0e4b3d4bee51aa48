import { setImmediate as turn } from 'node:timers/promises';
import type { JsonSchema, Route, RouteAnswer } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';

interface EmbeddingProperties {
  [name: string]: JsonSchema;
  data: { items: { properties: Record<string, JsonSchema> } };
}

/** Numbers that are written, and bytes that are copied, in one turn of the event loop: a few milliseconds. */
const NUMBERS = 10_000;
const BYTES = 4 * 1024 * 1024;

/** 2,048 vectors of 4,096 numbers are 170 MB: JSON.stringify would hold everybody else up for a second and more. */
async function answerInTurns(body: Record<string, unknown>): Promise<RouteAnswer> {
  const data = body['data'] as { embedding: unknown }[];
  const isLong = data.reduce((sum, { embedding }) => sum + sizeOf(embedding), 0) > NUMBERS;
  if (!isLong) return { body };
  const [head = '', tail = ''] = JSON.stringify({ ...body, data: [] }).split('"data":[]');
  const pieces = [Buffer.from(`${head}"data":[`)];
  let written = 0;
  for (const [at, one] of data.entries()) {
    pieces.push(Buffer.from(`${at === 0 ? '' : ','}${JSON.stringify(one)}`));
    written += sizeOf(one.embedding);
    if (written < NUMBERS) continue;
    await turn();
    written = 0;
  }
  pieces.push(Buffer.from(`]${tail}`));
  return { body: await joined(pieces) };
}

/** Base64 is copied only, and eight times as fast. */
const sizeOf = (embedding: unknown): number =>
  Array.isArray(embedding) ? embedding.length : String(embedding).length / 8;

async function joined(pieces: Buffer[]): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(pieces.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  let turned = 0;
  for (const piece of pieces) {
    end += piece.copy(whole, end);
    if (end - turned < BYTES) continue;
    await turn();
    turned = end;
  }
  return whole;
}

export const embeddingRoutes: Route[] = [
  {
    method: 'POST',
    path: '/embeddings',
    operationId: 'createEmbeddings',
    tag: 'Embeddings',
    summary: 'Turn texts into vectors',
    document: `mutation ($input: CreateEmbeddingsInput!) {
      body: createEmbeddings(input: $input) {
        object
        data { object index embedding }
        model model_tier: modelTier
        usage { prompt_tokens: promptTokens total_tokens: totalTokens credits_used: creditsUsed }
      }
    }`,
    body: { limitBytes: BODY_LIMITS.large, open: true, example: { input: 'The food was delicious' } },
    respond: answerInTurns,
    describe(schema) {
      const { data } = schema['properties'] as EmbeddingProperties;
      data.items.properties['embedding'] = {
        description: 'Numbers, or base64 of little-endian float32.',
        anyOf: [
          { type: 'array', items: { type: 'number' } },
          { type: 'string', contentEncoding: 'base64' },
        ],
      };
      return schema;
    },
    schemaName: 'EmbeddingList',
  },
];
