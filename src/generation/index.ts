export { createGenerationService } from './pipeline/pipeline.js';
export type { GenerationOptions } from './pipeline/pipeline.js';
export { createJobKinds, jobHandlersOf } from './job-kinds.js';
export { createImageKind } from './image/image.js';
export { createChatService } from './chat/chat.js';
export { createChatEngine } from './chat/engine.js';
export type { ChatEngine, ChatOptions } from './chat/engine.js';
export { createMessageService } from './messages/messages.js';
export type { MessageService } from './messages/messages.types.js';
export { createResponseRetention } from './responses/retention.js';
export { createResponseService } from './responses/responses.js';
export { createResponseStore } from './responses/store.js';
export type {
  KeyedChunk,
  ResponseEvents,
  ResponseEventsQuery,
  ResponseService,
} from './responses/responses.types.js';
export type { ResponsePosition, StoredEvent } from './responses/store.js';
export { createMetadataSeal } from './metadata-seal.js';
export type { MetadataSeal } from './metadata-seal.js';
export { createEmbeddingService } from './embedding/embeddings.js';
export type { EmbeddingOptions } from './embedding/embeddings.js';
export { createRerankService } from './rerank/rerank.js';
export { createModerationService } from './moderation/moderations.js';
export type * from './generation.types.js';
export { admitCall } from './pipeline/call-admission.js';
export { boundAt, countTexts, outputBound } from './chat/tokens.js';
export { openAnswer } from './chat/open.js';
export { endingOf } from './chat/settlement.js';
export { interruptedClasses, tokenRate, answerTokens } from './chat/usage.js';
export { makeImages } from './image/upstream.js';
export { decodeUpstreamMedia } from './pipeline/upstreams.js';
export { costBound } from './pipeline/cost-bound.js';
export { callableModels } from './pipeline/callable-models.js';
export type { ModelCaller } from './pipeline/checks.js';
export { isCallable, isTierAllowed, modelFor, requireAllowed } from './pipeline/checks.js';
export { createUpstreams } from './pipeline/upstreams.js';
export type { Upstreams } from './pipeline/upstreams.js';
