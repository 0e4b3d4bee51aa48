import type { Logger } from 'pino';
import type { GoneSignal } from '../gone-signal.js';
import type { CallContext } from '../metering/call-context.js';
import type { Model } from '../models/models.types.js';
import { UpstreamError } from '../providers/index.js';
import type { ChatAnswer, ChatCall, ChatProvider, ProviderRegistry } from '../providers/index.js';
import { createChatAdmission } from './chat-admission.js';
import type { AdmittedChat, ChatAdmission, ChatAdmissionOptions } from './chat-admission.js';
import { answerTexts, chatAnswer, missingHead } from './chat-answer.js';
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
  /** The signal of calls that go on without their caller. */
  never: GoneSignal;
}

/** A call with an Idempotency-Key finishes without its caller, so that it can be replayed. */
function signalOf({ never }: Parts, call: CallContext): GoneSignal {
  return call.idempotencyKey === null ? (call.gone ?? call.signal) : never;
}

/** @throws UpstreamError where a fallback's window is too small for the prompt */
function upstreamCall(parts: Parts, chat: AdmittedChat, target: Model): ChatCall {
  return {
    modelId: target.upstream?.modelId ?? target.name,
    body: bodyFor(chat.request, target),
    maxTokens: boundAt(target, { promptTokens: chat.promptTokens, maxTokens: chat.maxTokens }),
    outputCap: target.upstream?.outputCap ?? 'max_tokens',
    promptTokens: chat.promptTokens,
    signal: signalOf(parts, chat.call),
  };
}

/** Sends an admitted call to its upstream; a failure is settled before it is told. */
function routed<T>(
  parts: Parts,
  chat: AdmittedChat,
  attempt: (provider: ChatProvider, call: ChatCall) => Promise<T>,
): Promise<Routed<T>> {
  const answered = parts.router.route(chat.model, signalOf(parts, chat.call), (provider, target) => {
    if (!provider.chat)
      throw new UpstreamError('No chat at this provider', { status: null, retryable: false });
    return attempt(provider.chat, upstreamCall(parts, chat, target));
  });
  return answered.catch(async (error: unknown) => {
    throw await parts.settlement.fail(chat, error);
  });
}

const callWhole = (provider: ChatProvider, call: ChatCall): Promise<ChatAnswer> => provider.complete(call);

async function complete(parts: Parts, call: CallContext, body: Body): Promise<ChatCompletion> {
  const chat = await parts.admission.admit(call, body);
  const { value: answer, model } = await routed(parts, chat, callWhole);
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
  const settled = await parts.settlement.finish(chat, tokens, { messageId, model: model.id });
  const usage = chatUsage({ tokens, reported, settlement: settled, model: chat.model });
  const { citations } = chat;
  return {
    text: chatAnswer({ text, parsed, head, model: model.id, tier: chat.model.tier, usage, citations }),
  };
}

async function stream(parts: Parts, chat: AdmittedChat): Promise<ChatStream> {
  const { value, model } = await routed(parts, chat, openAnswer);
  const { settlement, options } = parts;
  const signal = signalOf(parts, chat.call);
  return {
    chunks: new ChatStreamReader({ chat, ...value, model, signal, settlement, tokenizer: options.tokenizer }),
  };
}

/** Chat completions (contract 4.1): admission, routing to an upstream, settlement, and the answer in the convention's form. */
export function createChatService(options: ChatOptions): ChatService {
  const parts: Parts = {
    options,
    admission: createChatAdmission(options),
    router: createRouter(options),
    settlement: createChatSettlement(options),
    never: new AbortController().signal,
  };
  return {
    complete: (call, body) => complete(parts, call, body),
    stream: async (call, body) => await stream(parts, await parts.admission.admit(call, body)),
    async estimate(call, body) {
      const { model, promptTokens, maxTokens } = await parts.admission.check(call, body);
      const amounts = options.metering.tokenAmounts(promptTokens + maxTokens, tokenRate(model));
      return { model: model.id, modelTier: model.tier, amounts };
    },
  };
}
