import type { KindDescriptor } from '../kind.types.js';

/** POST /embeddings (decisions 6): needs the scope of chat and is charged like chat. */
export const EMBEDDING = {
  name: 'embedding',
  descriptions: { model: 'Turns texts into vectors.' },
  scope: 'chat',
  window: null,
  tiers: 'general',
  pricing: { unit: '1k_tokens', bucket: 'credits', amount: 1, credits: 1 },
  modalities: { input: ['text'], output: ['embedding'] },
  sandbox: { defaultTier: 'basic', contextWindow: 8192 },
  estimate: 'embeddings',
  capability: { method: 'doEmbed', operation: 'embeddings', output: null },
  job: null,
} as const satisfies KindDescriptor;
