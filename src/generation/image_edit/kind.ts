import type { KindDescriptor } from '../kind.types.js';

/** POST /images/edits (contract 4.3). */
export const IMAGE_EDIT = {
  name: 'image_edit',
  descriptions: {
    model: 'Edits images.',
    scope: 'Reserved by the contract. Image edits need the scope `image`.',
  },
  scope: 'image',
  window: { limit: 10, windowSeconds: 60 },
  tiers: 'media',
  pricing: { unit: 'edit', bucket: 'image_edits', amount: 1, credits: 0 },
  modalities: { input: ['image', 'text'], output: ['image'] },
  sandbox: {
    defaultTier: 'standard',
    fastOperations: ['backgroundRemoval', 'superResolution', 'colorization'],
  },
  estimate: 'imageEdit',
  capability: { method: 'edit', operation: 'generate_content', output: 'image' },
  job: {
    description: 'An edited image.',
    timeLimitMs: 600_000,
    concurrency: 2,
    exhaustedMessage: 'Image edit limit exceeded',
    failureMessage: 'Generation failed',
  },
} as const satisfies KindDescriptor;
