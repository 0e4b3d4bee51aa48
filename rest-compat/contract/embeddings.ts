import type { JsonSchema, Route } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';

interface EmbeddingProperties {
  [name: string]: JsonSchema;
  data: { items: { properties: Record<string, JsonSchema> } };
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
