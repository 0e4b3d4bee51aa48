import type { KindDescriptor } from '../kind.types.js';

/** POST /music/generations (contract 4.5). */
export const MUSIC = {
  name: 'music',
  descriptions: { model: 'Makes music.', scope: 'Music generations.' },
  scope: 'music',
  window: { limit: 10, windowSeconds: 3600 },
  tiers: 'general',
  pricing: { unit: 'track', bucket: 'music_tracks', amount: 1, credits: 0 },
  modalities: { input: ['text', 'audio'], output: ['audio'] },
  sandbox: { defaultTier: 'standard', maxDurationSeconds: 60 },
  estimate: 'music',
  capability: { method: 'generate', operation: 'generate_content', output: 'music' },
  job: {
    description: 'Music.',
    timeLimitMs: 600_000,
    concurrency: 1,
    exhaustedMessage: 'Music track limit exceeded',
    failureMessage: 'Generation failed',
  },
} as const satisfies KindDescriptor;
