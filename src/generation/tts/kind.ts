import type { KindDescriptor } from '../kind.types.js';

/** POST /audio/speech (contract 4.6). */
export const TTS = {
  name: 'tts',
  label: 'speech',
  descriptions: { model: 'Speaks a text.', scope: 'Speech.' },
  scope: 'tts',
  window: { limit: 20, windowSeconds: 60 },
  tiers: 'media',
  pricing: { unit: 'character', bucket: 'tts_chars', amount: 1, credits: 0 },
  modalities: { input: ['text', 'audio'], output: ['audio'] },
  sandbox: { defaultTier: 'standard' },
  estimate: 'speech',
  capability: { method: 'doGenerate', operation: 'generate_content', output: 'speech' },
  job: {
    description: 'Speech from text.',
    timeLimitMs: 600_000,
    concurrency: 2,
    exhaustedMessage: 'TTS character limit exceeded',
    failureMessage: 'Generation failed',
  },
} as const satisfies KindDescriptor;
