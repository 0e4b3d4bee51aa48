import type { KindDescriptor } from '../kind.types.js';

/** POST /chat/completions (contract 4.1). */
export const CHAT = {
  name: 'chat',
  descriptions: { model: 'Answers conversations.', scope: 'Chat completions and embeddings.' },
  scope: 'chat',
  window: { limit: 30, windowSeconds: 60 },
  tiers: 'general',
  pricing: { unit: '1k_tokens', bucket: 'credits', amount: 1, credits: 1 },
  modalities: { input: ['text'], output: ['text'] },
  sandbox: {
    defaultTier: 'basic',
    contextWindow: 128_000,
    maxOutputTokens: 100_000,
    modalities: { input: ['text', 'image'], output: ['text'] },
  },
  estimate: 'chat',
  capability: null,
  job: null,
} as const satisfies KindDescriptor;
