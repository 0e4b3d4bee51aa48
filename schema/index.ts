export { asyncApiDocument } from './asyncapi/asyncapi.js';
export { webhookExamples } from './asyncapi/examples.js';
export { buildPenstockSchema } from './build.js';
export { textsOf } from './federation/subgraph.js';
export type { ResolverClass, SchemaOptions } from './build.js';
export { chatBody, parseChatChunk, parseChatCompletion } from './chat/chat.shape.js';
export { ChatCompletionInput } from './chat/chat.input.js';
export { ChatCompletionChunk } from './chat/chat.type.js';
export { MessageInput } from './message/message.input.js';
export { messageBody, parseMessageEvent } from './message/message.shape.js';
export { MessageEvent } from './message/message.type.js';
export { ResponseInput } from './response/response.input.js';
export { parseResponseEvent, parseResponseProgress, responseBody } from './response/response.shape.js';
export { ResponseEvent, ResponseProgress } from './response/response.type.js';
export { Quota } from './quota/quota.type.js';
export { SafeInt } from './scalars.js';
export { toUsageUpdate, UsageUpdateType } from './usage/usage-update.type.js';
export { boundTo } from './bound.js';
export type { GraphqlContext } from './context.js';
export { SCOPE_MEANINGS } from './enums.js';
export { errorExtensions, presentError } from './errors.js';
export {
  guardBeforeBody,
  guardOf,
  Metered,
  requireAgents,
  requireScope,
  returnKeySlot,
  Scope,
  takeFieldSlots,
  takeKeySlot,
} from './guard.js';
export { AgentRunEvent, AgentRunUpdate } from './agent/run.type.js';
export { JobTool, UsageExportFormat } from './enums.js';
export { UsageExportPiece } from './usage/usage-export.type.js';
export { UsageRecordFilterInput } from './usage/usage.input.js';
export { JobProgress, JobType, JobUpdate } from './job/job.type.js';
export { createDocuments } from './documents/index.js';
export type { DocumentRequest, Documents } from './documents/index.js';
export { createGraphqlHandler } from './http/handler.js';
export type { GraphqlHandler } from './http/handler.js';
export type { GraphqlHandlerOptions } from './http/handler.types.js';
export {
  nameIn as documentNameIn,
  paramOf as graphqlParamOf,
  parseRequest as parseGraphqlRequest,
} from './http/request.js';
