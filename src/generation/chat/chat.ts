import { Readable } from 'node:stream';
import type { CallContext } from '../../metering/call-context.js';
import { runForOrg } from '../../processes/index.js';
import { tokenClasses, UpstreamError } from '../../providers/index.js';
import type { ChatAnswer, ChatCall, ChatProvider } from '../../providers/index.js';
import type { AdmittedChat } from './admission.js';
import { answerTexts, chatAnswer, missingHead } from './answer.js';
import { chargedBefore, createUnchargedStore } from './uncharged-chat.js';
import type { StoreUncharged } from './uncharged-chat.js';
import { stoppingFault } from './callers.js';
import type { ChatCaller } from './callers.js';
import { withFallbackContinuation, resumeInterruptedAnswer } from './continued.js';
import { createChatEngine, upstreamCall } from './engine.js';
import type { ChatEngine, ChatOptions } from './engine.js';
import { openAnswer } from './open.js';
import type { OpenAnswer } from './open.js';
import { ChatStreamReader } from './stream.js';
import { countTexts } from './tokens.js';
import { chatUsage, tokenRate, answerTokens } from './usage.js';
import type { Answered } from '../pipeline/upstreams.js';
import type { ChatCompletion, ChatService, ChatStream } from '../generation.types.js';

type Body = Record<string, unknown>;

/** A running chat. */
export interface Live {
  chat: AdmittedChat;
  caller: ChatCaller;
  keepMade: StoreUncharged | null;
}

/** The request to an upstream, and how its answer is read. */
interface Work<T, R> {
  attempt(provider: ChatProvider, call: ChatCall): Promise<T>;
  receive(parts: ChatEngine, live: Live, answered: Answered<T>): R | Promise<R>;
}

/** Sends an admitted call to its upstream. A failure is settled before it is thrown. */
function routed<T, R>(parts: ChatEngine, live: Live, { attempt, receive }: Work<T, R>): Promise<R> {
  const { chat, caller } = live;
  const answered = parts.upstreams.ask(
    chat.model,
    { signal: caller, tally: chat.tally },
    (provider, target) => {
      if (!provider.chat)
        throw new UpstreamError('No chat at this provider', { status: null, retryable: false });
      const { chat: upstream } = provider;
      return runForOrg(chat.call.principal.orgId, () => attempt(upstream, upstreamCall(live, target)));
    },
  );
  return answered.then(
    (found) => receive(parts, live, found),
    async (error: unknown) => {
      throw await parts.settlement.fail(chat, caller.stopped ? stoppingFault() : error);
    },
  );
}

const WHOLE: Work<ChatAnswer, ChatCompletion> = {
  attempt: (provider, call) => provider.complete(call),
  receive: finished,
};

async function complete(parts: ChatEngine, call: CallContext, body: Body): Promise<ChatCompletion> {
  const keepMade = createUnchargedStore(call, body);
  const [before] = (keepMade && (await chargedBefore(parts.options, call, body))) ?? [];
  if (before !== undefined) return { text: before };
  const chat = await parts.admission.admit(call, body);
  const caller = parts.callers.enter(call);
  try {
    return await routed(parts, { chat, caller, keepMade }, WHOLE);
  } finally {
    caller.leave();
  }
}

/** Charges a whole answer and writes it in the contract's form. */
async function finished(
  parts: ChatEngine,
  { chat, keepMade }: Live,
  { value, model }: Answered<ChatAnswer>,
): Promise<ChatCompletion> {
  const { text, parsed } = value;
  const head = missingHead(parsed, 'chat.completion');
  const reported = parsed['usage'];
  const texts = () => answerTexts(parsed);
  const { tokenizer } = parts.options;
  const counted = answerTokens(reported, {
    prompt: chat.promptTokens,
    completion: () => countTexts(texts(), { tokenizer, limit: Number.POSITIVE_INFINITY }),
    generated: () => texts().some((said) => said !== ''),
  });
  const unsettled = async (lost: unknown): Promise<never> => {
    throw await parts.settlement.fail(chat, lost);
  };
  const tokens = counted instanceof Promise ? await counted.catch(unsettled) : counted;
  chat.tally.answers({ model, tokens: tokenClasses(tokens, reported), upstreamId: parsed['id'] });
  const messageId = head['id'] === undefined ? String(parsed['id']) : (JSON.parse(head['id']) as string);
  const { citations } = chat;
  const written = (usage: Record<string, unknown>): string =>
    chatAnswer({ text, parsed, head, model: model.id, tier: chat.model.tier, usage, citations });
  if (keepMade !== null) {
    const made = { texts: [written({})], priced: 0, tokens, reported, model: chat.model.id };
    await keepMade(chat.operationId, made).catch(unsettled);
  }
  const settled = await parts.settlement.finish(chat, tokens, { messageId, model: model.id, unseen: true });
  return { text: written(chatUsage({ tokens, reported, settlement: settled, model: chat.model })) };
}

const STREAMED: Work<OpenAnswer, ChatStream> = {
  attempt: openAnswer,
  receive(parts, live, answered) {
    live.chat.tally.began();
    return streamOf(parts, live, { ...answered, value: withFallbackContinuation(parts, live, answered) });
  },
};

function streamOf(
  { settlement, options: { tokenizer } }: ChatEngine,
  live: Live,
  { value, model }: Answered<OpenAnswer>,
): ChatStream {
  return { chunks: new ChatStreamReader({ ...live, ...value, model, settlement, tokenizer }) };
}

/** Streams the answer of an admitted call. @throws ApiError; the call is settled then */
export const openStream = (parts: ChatEngine, live: Live): Promise<ChatStream> =>
  routed(parts, live, STREAMED);

/** Continues an answer that another process began, from its first chunk. @returns null if no model can continue it */
export async function resumeStream(
  parts: ChatEngine,
  live: Live,
  delivered: readonly [string, ...string[]],
): Promise<ChatStream | null> {
  const answered = await resumeInterruptedAnswer(parts, live, delivered);
  return answered && streamOf(parts, live, answered);
}

async function stream(parts: ChatEngine, call: CallContext, body: Body): Promise<ChatStream> {
  const keepMade = createUnchargedStore(call, body);
  const before = keepMade && (await chargedBefore(parts.options, call, body));
  if (before !== null) return { chunks: Readable.from(before) };
  const chat = await parts.admission.admit(call, body);
  const caller = parts.callers.enter(call);
  try {
    return await openStream(parts, { chat, caller, keepMade });
  } catch (error) {
    caller.leave();
    throw error;
  }
}

/**
 * Chat completions (contract 4.1): admission, routing to an upstream, settlement, and the answer in the convention's form.
 * @param parts given if other text APIs share them
 */
export function createChatService(options: ChatOptions, parts = createChatEngine(options)): ChatService {
  return {
    stop: () => parts.callers.stop(),
    complete: (call, body) => complete(parts, call, body),
    stream: (call, body) => stream(parts, call, body),
    async estimate(call, body) {
      const { model, promptTokens, maxTokens } = await parts.admission.check(call, body);
      const amounts = options.metering.tokenAmounts(promptTokens + maxTokens, tokenRate(model));
      return { model: model.id, modelTier: model.tier, amounts };
    },
  };
}
