import type { KindDescriptor } from '../kind.types.js';

/** Rerank (beyond 11.12): needs the scope of chat, like embeddings. */
export const RERANK = {
  name: 'rerank',
  descriptions: { model: 'Orders texts by how well they answer a question.' },
  scope: 'chat',
  window: null,
  tiers: 'general',
  pricing: { unit: '100_documents', bucket: 'credits', amount: 1, credits: 1 },
  modalities: { input: ['text'], output: ['score'] },
  sandbox: { defaultTier: 'basic' },
  estimate: 'rerank',
  capability: { method: 'doRerank', operation: 'rerank', output: null },
  job: null,
} as const satisfies KindDescriptor;
