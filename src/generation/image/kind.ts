import type { KindDescriptor } from '../kind.types.js';

/** POST /images/generations (contract 4.2). */
export const IMAGE = {
  name: 'image',
  descriptions: { model: 'Makes images.', scope: 'Image generations and image edits.' },
  scope: 'image',
  window: { limit: 10, windowSeconds: 60 },
  tiers: 'general',
  pricing: { unit: 'image', bucket: 'image_generations', amount: 1, credits: 0.5 },
  modalities: { input: ['text'], output: ['image'] },
  sandbox: { defaultTier: 'standard' },
  estimate: 'image',
  capability: { method: 'doGenerate', operation: 'generate_content', output: 'image' },
  job: {
    description: 'Images from text.',
    timeLimitMs: 600_000,
    concurrency: 2,
    exhaustedMessage: null,
    failureMessage: 'Generation failed',
  },
} as const satisfies KindDescriptor;
