import type { JsonSchema, Route } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';

interface Described {
  [name: string]: JsonSchema;
  results: JsonSchema & { items: JsonSchema & { properties: Record<string, JsonSchema> } };
}

interface Result {
  document?: object | null;
}

/** Results contain their texts only on request. */
function describe(schema: JsonSchema): JsonSchema {
  const properties = schema['properties'] as Described;
  const { results } = properties;
  const { document: given = {}, ...others } = results.items.properties;
  const { anyOf: _, ...document } = { ...given, type: 'object' } as JsonSchema;
  const items = { ...results.items, properties: { ...others, document }, required: Object.keys(others) };
  return { ...schema, properties: { ...properties, results: { ...results, items } } };
}

/** The form of Cohere's, Jina's and other clients (beyond 11.12). */
export const rerankRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/rerank',
    operationId: 'rerank',
    tag: 'Rerank',
    summary: 'Order texts by how well they answer a question',
    document: `mutation ($input: RerankInput!) {
      body: rerank(input: $input) {
        id model model_tier: modelTier
        results { index relevance_score: relevanceScore document { text } }
        usage { search_units: searchUnits credits_used: creditsUsed }
      }
    }`,
    body: {
      limitBytes: BODY_LIMITS.large,
      open: true,
      example: {
        query: 'What is the capital of France?',
        documents: ['Paris is the capital of France.', 'Berlin is in Germany.'],
        top_n: 1,
      },
    },
    respond(body) {
      for (const result of body['results'] as Result[]) if (result.document === null) delete result.document;
      return { body };
    },
    describe,
    schemaName: 'Reranking',
  },
];
