import type { Logger } from 'pino';
import type { CallContext } from '../metering/call-context.js';
import type { Model } from '../models/models.types.js';
import { UpstreamError } from '../providers/index.js';
import type { ChatAnswer, ChatCall, ChatProvider, ProviderRegistry } from '../providers/index.js';
import { createChatAdmission } from './chat-admission.js';
import type { AdmittedChat, ChatAdmission, ChatAdmissionOptions } from './chat-admission.js';
import { answerTexts, chatAnswer, missingHead } from './chat-answer.js';
import { ChatCallers, stoppingFault } from './chat-callers.js';
import type { ChatCaller } from './chat-callers.js';
import { openAnswer } from './chat-open.js';
import { bodyFor } from './chat-request.js';
import { createChatSettlement } from './chat-settlement.js';
import type { ChatSettlement } from './chat-settlement.js';
import { ChatStreamReader } from './chat-stream.js';
import { boundAt, countTexts } from './chat-tokens.js';
import { chatUsage, tokenRate, wholeTokens } from './chat-usage.js';
import { createRouter } from './routing.js';
import type { Routed, Router } from './routing.js';
import type { ChatCompletion, ChatService, ChatStream } from './generation.types.js';

export interface ChatOptions extends ChatAdmissionOptions {
  providers: ProviderRegistry;
  logger: Logger;
}

type Body = Record<string, unknown>;

interface Parts {
  options: ChatOptions;
  admission: ChatAdmission;
  router: Router;
  settlement: ChatSettlement;
  callers: ChatCallers;
}

/** A chat under way. */
interface Live {
  chat: AdmittedChat;
  caller: ChatCaller;
}

/** @throws UpstreamError where a fallback's window is too small for the prompt */
function upstreamCall({ chat, caller }: Live, target: Model): ChatCall {
  return {
    modelId: target.upstream?.modelId ?? target.name,
    body: bodyFor(chat.request, target),
    maxTokens: boundAt(target, { promptTokens: chat.promptTokens, maxTokens: chat.maxTokens }),
    outputCap: target.upstream?.outputCap ?? 'max_tokens',
    promptTokens: chat.promptTokens,
    signal: caller,
  };
}

/** Sends an admitted call to its upstream; a failure is settled before it is told. */
function routed<T>(
  parts: Parts,
  live: Live,
  attempt: (provider: ChatProvider, call: ChatCall) => Promise<T>,
): Promise<Routed<T>> {
  const { chat, caller } = live;
  const answered = parts.router.route(chat.model, caller, (provider, target) => {
    if (!provider.chat)
      throw new UpstreamError('No chat at this provider', { status: null, retryable: false });
    return attempt(provider.chat, upstreamCall(live, target));
  });
  return answered.catch(async (error: unknown) => {
    throw await parts.settlement.fail(chat, caller.stopped ? stoppingFault() : error);
  });
}

const callWhole = (provider: ChatProvider, call: ChatCall): Promise<ChatAnswer> => provider.complete(call);

async function complete(parts: Parts, call: CallContext, body: Body): Promise<ChatCompletion> {
  const chat = await parts.admission.admit(call, body);
  const caller = parts.callers.enter(call);
  try {
    const { value, model } = await routed(parts, { chat, caller }, callWhole);
    return await finished(parts, chat, { answer: value, model });
  } finally {
    caller.leave();
  }
}

/** Charges a whole answer and writes it as the contract has it. */
async function finished(
  parts: Parts,
  chat: AdmittedChat,
  { answer, model }: { answer: ChatAnswer; model: Model },
): Promise<ChatCompletion> {
  const { text, parsed } = answer;
  const head = missingHead(parsed, 'chat.completion');
  const reported = parsed['usage'];
  const texts = answerTexts(parsed);
  const { tokenizer } = parts.options;
  const tokens = await wholeTokens(reported, {
    prompt: chat.promptTokens,
    completion: () => countTexts(texts, { tokenizer, limit: Number.POSITIVE_INFINITY }),
    generated: texts.some((said) => said !== ''),
  });
  const messageId = head['id'] === undefined ? String(parsed['id']) : (JSON.parse(head['id']) as string);
  const settled = await parts.settlement.finish(chat, tokens, { messageId, model: model.id, unseen: true });
  const usage = chatUsage({ tokens, reported, settlement: settled, model: chat.model });
  const { citations } = chat;
  return {
    text: chatAnswer({ text, parsed, head, model: model.id, tier: chat.model.tier, usage, citations }),
  };
}

async function stream(parts: Parts, chat: AdmittedChat): Promise<ChatStream> {
  const caller = parts.callers.enter(chat.call);
  try {
    const { value, model } = await routed(parts, { chat, caller }, openAnswer);
    const { settlement, options } = parts;
    const { tokenizer } = options;
    return { chunks: new ChatStreamReader({ chat, ...value, model, caller, settlement, tokenizer }) };
  } catch (error) {
    caller.leave();
    throw error;
  }
}

/** Chat completions (contract 4.1): admission, routing to an upstream, settlement, and the answer in the convention's form. */
export function createChatService(options: ChatOptions): ChatService {
  const parts: Parts = {
    options,
    admission: createChatAdmission(options),
    router: createRouter(options),
    settlement: createChatSettlement(options),
    callers: new ChatCallers(),
  };
  return {
    stop: () => parts.callers.stop(),
    complete: (call, body) => complete(parts, call, body),
    stream: async (call, body) => await stream(parts, await parts.admission.admit(call, body)),
    async estimate(call, body) {
      const { model, promptTokens, maxTokens } = await parts.admission.check(call, body);
      const amounts = options.metering.tokenAmounts(promptTokens + maxTokens, tokenRate(model));
      return { model: model.id, modelTier: model.tier, amounts };
    },
  };
}
