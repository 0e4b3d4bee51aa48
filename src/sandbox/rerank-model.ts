import type { RerankingModelV4 } from '@ai-sdk/provider';
import { nextSlice } from '../collections/time-slicer.js';
import { featureVector } from '../text/feature-vector.js';
import { DEFAULT_DIMENSIONS } from './embedding-model.js';

const SCALE = 1_000_000;

/** How much two texts have in common, 0 to 1, to six places. */
function scoreOf(query: readonly number[], document: readonly number[]): number {
  const product = query.reduce((sum, value, at) => sum + value * (document[at] ?? 0), 0);
  return Math.round(Math.min(1, Math.max(0, product)) * SCALE) / SCALE;
}

/** Ranks without a model: by the words and letters that a document has in common with the query. */
export function createSandboxRerank(modelId: string): RerankingModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'sandbox',
    modelId,
    async doRerank({ query, documents, topN, abortSignal }) {
      const sought = featureVector(query, DEFAULT_DIMENSIONS);
      const ranking: { index: number; relevanceScore: number }[] = [];
      for (const [index, value] of documents.values.entries()) {
        abortSignal?.throwIfAborted();
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        ranking.push({ index, relevanceScore: scoreOf(sought, featureVector(text, DEFAULT_DIMENSIONS)) });
        if (index % 16 === 15 || text.length > 10_000) await nextSlice();
      }
      const best = ranking.toSorted((a, b) => b.relevanceScore - a.relevanceScore || a.index - b.index);
      return { ranking: best.slice(0, topN), warnings: [] };
    },
  };
}
