import type { KindDescriptor } from '../kind.types.js';

/** POST /audio/transcriptions (contract 4.7). */
export const STT = {
  name: 'stt',
  label: 'transcription',
  descriptions: { model: 'Transcribes speech.', scope: 'Transcriptions.' },
  scope: 'stt',
  window: { limit: 10, windowSeconds: 60 },
  tiers: 'media',
  pricing: { unit: 'second', bucket: 'stt_seconds', amount: 1, credits: 0 },
  modalities: { input: ['audio'], output: ['text'] },
  sandbox: { defaultTier: 'fast' },
  estimate: 'transcription',
  capability: { method: 'transcribe', operation: 'generate_content', output: 'text' },
  job: {
    description: 'Text from speech.',
    timeLimitMs: 600_000,
    concurrency: 2,
    exhaustedMessage: 'STT limit exceeded',
    failureMessage: 'Transcription failed',
  },
} as const satisfies KindDescriptor;
