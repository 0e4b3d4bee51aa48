import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import { nextSlice } from '../collections/time-slicer.js';
import { featureVector } from '../text/feature-vector.js';
import type { Tokenizer } from '../text/tokenizer.js';

export const DEFAULT_DIMENSIONS = 1024;

/** Embeddings without a model: deterministic feature hashes. Dimensions come as `providerOptions.penstock.dimensions`. */
export function createSandboxEmbedding(modelId: string, tokenizer: Tokenizer): EmbeddingModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'sandbox',
    modelId,
    maxEmbeddingsPerCall: undefined,
    supportsParallelCalls: true,
    async doEmbed({ values, abortSignal, providerOptions }) {
      const wanted = providerOptions?.['penstock']?.['dimensions'];
      const dimensions = typeof wanted === 'number' ? wanted : DEFAULT_DIMENSIONS;
      const embeddings: number[][] = [];
      for (const value of values) {
        abortSignal?.throwIfAborted();
        embeddings.push(featureVector(value, dimensions));
        if (embeddings.length % 16 === 0 || value.length > 10_000) await nextSlice();
      }
      return {
        embeddings,
        usage: { tokens: await tokenizer.countAll(values, Number.POSITIVE_INFINITY) },
        warnings: [],
      };
    },
  };
}
