export { reachUpstream } from './reachability.js';
export type { Reachability } from './reachability.js';
export { createProviderRegistry, readProvidersFile } from './registry.js';
export type { RegistryOptions } from './registry.js';
export { SANDBOX_ID } from './providers-file.js';
export type { UpstreamSettings } from './upstream-settings.types.js';
export { spliceObject } from './openai-compatible/json-splice.js';
export { RefusedFields } from './openai-compatible/optional-fields.js';
export { Transport } from './openai-compatible/transport.js';
export { abortedError, brokenAnswer } from './openai-compatible/upstream-errors.js';
export { hasContent, deliveredText, parseChunk } from './convention/chunk.js';
export type { Choice, Chunk } from './convention/chunk.js';
export { finishReason, isFailure } from './convention/finish-reasons.js';
export { MergedMessage } from './convention/merged.js';
export { generatedTexts, isFields, withPlainContent } from './convention/answer-text.js';
export { StreamedCalls, withWholeCalls } from './convention/streamed-calls.js';
export {
  findTokenClasses,
  reportedClasses,
  latestUsage,
  tokenClasses,
  tokenCount,
  findTokenParts,
  findUsage,
} from './convention/usage.js';
export { ProvidersFileError, UpstreamError } from './providers.types.js';
export type * from './providers.types.js';
export { NATIVE_DIALECTS } from './dialect.types.js';
export type * from './dialect.types.js';
export { typeOfEvent, WHOLE } from './openai-compatible/event-exchange.js';
export { kindOfError } from './openai-compatible/upstream-errors.js';
export type * from './image-edit.types.js';
export type * from './image.types.js';
export type * from './music.types.js';
export type * from './order.types.js';
export type * from './stt.types.js';
export type * from './tool-rules.types.js';
export type * from './tts.types.js';
export { PLAIN_SETTINGS } from './video.types.js';
export type * from './video.types.js';
