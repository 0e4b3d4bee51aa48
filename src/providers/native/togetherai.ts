import type { NativeProvider } from './native-provider.types.js';

/** Models that take no seed, although the package sends it. */
const SEEDLESS: ReadonlySet<string> = new Set(['google/gemini-3-pro-image']);

/** Together AI. It is OpenAI-compatible except for images, which its package makes. */
export const togetherai: NativeProvider = {
  id: 'togetherai',
  variables: ['TOGETHER_API_KEY'],
  baseUrl: () => 'https://api.together.xyz/v1',
  convention: true,
  outputCap: 'max_tokens',
  types: [],
  package: {
    load: async (settings) => (await import('@ai-sdk/togetherai')).createTogetherAI(settings),
    does: ['image'],
  },
  image: { takesSeed: (modelId) => !SEEDLESS.has(modelId) },
};
