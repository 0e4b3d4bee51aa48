import { UNKNOWN_TO_MAKERS } from './chat-features.js';
import type { NativeProvider } from './native-provider.types.js';

/** Cohere. */
export const cohere: NativeProvider = {
  id: 'cohere',
  variables: ['COHERE_API_KEY'],
  baseUrl: () => 'https://api.cohere.com/v2',
  convention: false,
  outputCap: 'max_tokens',
  types: ['chat', 'embedding', 'rerank'],
  package: {
    load: async (settings) => (await import('@ai-sdk/cohere')).createCohere(settings),
    does: ['chat', 'embedding', 'rerank'],
  },
  chat: {
    unsupportedFeatures: [...UNKNOWN_TO_MAKERS, 'parallel_tool_calls'],
    // No other provider has this option.
    pictureOptions: (detail) => ({ cohere: { detail } }),
  },
  dimensionsName: () => 'outputDimension',
};
