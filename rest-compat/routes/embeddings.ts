import type { Route } from '../route.types.js';
import { BODY_LIMITS } from '../route.types.js';

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
    schemaName: 'EmbeddingList',
  },
];
