import { SHAPES } from './image-shapes.js';
import type { NativeProvider } from './native-provider.types.js';

/** Models that take a size; the others take an aspect ratio. */
const SIZED = /stable-diffusion-xl|playground|SSD-1B/;

/** Fireworks AI. It is OpenAI-compatible except for images, which its package makes. */
export const fireworks: NativeProvider = {
  id: 'fireworks',
  variables: ['FIREWORKS_API_KEY'],
  baseUrl: () => 'https://api.fireworks.ai/inference/v1',
  convention: true,
  outputCap: 'max_tokens',
  types: [],
  package: {
    load: async (settings) => (await import('@ai-sdk/fireworks')).createFireworks(settings),
    does: ['image'],
  },
  orders: {
    question: /\/get_result$/,
    isOpen: (status, text) => status === 200 && /"status"\s*:\s*"Pending"/.test(text),
  },
  image: { takesSeed: () => true, shapes: (modelId) => (SIZED.test(modelId) ? null : SHAPES) },
};
