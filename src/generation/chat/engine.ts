import type { Logger } from 'pino';
import type { Model } from '../../models/models.types.js';
import type { ChatCall, ProviderRegistry } from '../../providers/index.js';
import { createUpstreams } from '../pipeline/upstreams.js';
import type { Upstreams } from '../pipeline/upstreams.js';
import { createChatAdmission } from './admission.js';
import type { AdmittedChat, ChatAdmission, ChatAdmissionOptions } from './admission.js';
import { ChatCallers } from './callers.js';
import type { ChatCaller } from './callers.js';
import { bodyFor } from './request.js';
import { createChatSettlement } from './settlement.js';
import type { ChatSettlement } from './settlement.js';
import { boundAt } from './tokens.js';

export interface ChatOptions extends ChatAdmissionOptions {
  providers: ProviderRegistry;
  logger: Logger;
}

/** The parts that all text APIs share, one of each in a process. */
export interface ChatEngine {
  options: ChatOptions;
  admission: ChatAdmission;
  upstreams: Upstreams;
  settlement: ChatSettlement;
  callers: ChatCallers;
}

export function createChatEngine(options: ChatOptions): ChatEngine {
  return {
    options,
    admission: createChatAdmission(options),
    upstreams: createUpstreams(options),
    settlement: createChatSettlement(options),
    callers: new ChatCallers(),
  };
}

/** @throws UpstreamError if a fallback's context window is too small for the prompt */
export function upstreamCall(
  { chat, caller }: { chat: AdmittedChat; caller: ChatCaller },
  target: Model,
): ChatCall {
  return {
    modelId: target.upstream?.modelId ?? target.name,
    body: bodyFor(chat.request, target),
    maxTokens: boundAt(target, { promptTokens: chat.promptTokens, maxTokens: chat.maxTokens }),
    requestedTokens: chat.request.maxTokens,
    outputCap: target.upstream?.outputCap ?? 'max_tokens',
    promptTokens: chat.promptTokens,
    signal: caller,
  };
}
