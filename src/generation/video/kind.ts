import type { KindDescriptor } from '../kind.types.js';

/** POST /videos/generations (contract 4.4). */
export const VIDEO = {
  name: 'video',
  descriptions: { model: 'Makes videos.', scope: 'Video generations.' },
  scope: 'video',
  window: { limit: 5, windowSeconds: 3600 },
  tiers: 'general',
  pricing: { unit: 'second', bucket: 'video_seconds', amount: 1, credits: 0.1 },
  modalities: { input: ['text', 'image', 'video'], output: ['video'] },
  sandbox: { defaultTier: 'standard', maxDurationSeconds: 60 },
  estimate: 'video',
  capability: { method: 'doGenerate', operation: 'generate_content', output: 'video' },
  job: {
    description: 'A video.',
    // A minute of 4k at 60 frames a second is 3,600 large frames.
    timeLimitMs: 3_600_000,
    concurrency: 1,
    exhaustedMessage: null,
    failureMessage: 'Generation failed',
  },
} as const satisfies KindDescriptor;
