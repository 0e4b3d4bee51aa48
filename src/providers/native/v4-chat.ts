import { randomUUID } from 'node:crypto';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
} from '@ai-sdk/provider';
import type { Egress } from '../../egress/index.js';
import { abortSignalOf } from '../../collections/light-abort-signal.js';
import { timeSlicer } from '../../collections/time-slicer.js';
import { writeJson } from '../../text/write-json.js';
import type { ChatAnswer, ChatCall, ChatChunks, ChatObject, ChatProvider } from '../providers.types.js';
import { AssembledAnswer } from '../convention/assembled.js';
import { StreamedCalls } from '../convention/streamed-calls.js';
import { optionalOfNative } from '../openai-compatible/optional-chat-fields.js';
import { fieldsWithout } from '../openai-compatible/optional-fields.js';
import type { RefusedFields } from '../openai-compatible/optional-fields.js';
import { chunkOfAnswer, inPieces } from '../openai-compatible/whole-answer.js';
import { abortedError, brokenAnswer } from '../openai-compatible/upstream-errors.js';
import { callInEitherForm } from './answer-forms.js';
import { checkChatFeatures } from './chat-features.js';
import { AnswerMetadata } from './provider-metadata.js';
import { refuseDropped } from './dropped-settings.js';
import type { NativeProvider } from './native-provider.types.js';
import { CHAT_WORDS } from './omitted-fields.js';
import { upstreamErrorOf } from './sdk-errors.js';
import { withPictures } from './fetch-pictures.js';
import { callOptionsOf } from './v4-prompt.js';
import { V4Chunks } from './v4-stream.js';
import { finishReasonOf, isFailed, usageOf } from './v4-finish-and-usage.js';

export interface V4ChatOptions {
  native: NativeProvider;
  /** Loads the package at the first call. */
  model(modelId: string): Promise<LanguageModelV4>;
  secrets: readonly string[];
  /** The fields that the upstream's models refuse. */
  refused: RefusedFields;
  /** Downloads images that the provider does not download itself. */
  egress?: Egress | undefined;
}

function messageOf(content: readonly LanguageModelV4Content[], kind: string): Record<string, unknown> {
  const joined = (type: 'text' | 'reasoning'): string =>
    content.map((part) => (part.type === type ? part.text : '')).join('');
  const calls = content.flatMap((part) =>
    part.type === 'tool-call' && part.providerExecuted !== true
      ? [
          {
            id: part.toolCallId,
            type: 'function',
            function: { name: part.toolName, arguments: part.input },
          },
        ]
      : [],
  );
  const [text, reasoning] = [joined('text'), joined('reasoning')];
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...new AnswerMetadata(kind).content(content).field(),
  };
}

/** @throws UpstreamError if the provider made no answer, or dropped a setting */
async function answerOf(
  made: LanguageModelV4GenerateResult,
  call: ChatCall,
  kind: string,
): Promise<ChatAnswer> {
  refuseDropped(made.warnings, { modelId: call.modelId, requested: call.body });
  if (isFailed(made.finishReason)) throw brokenAnswer('an error');
  // One package accepts an error with status 200, or any other object, as an answer.
  if (made.content.length === 0 && made.finishReason.raw === undefined)
    throw brokenAnswer('nothing, nor why');
  const usage = usageOf(made.usage);
  const parsed: ChatObject = {
    id: made.response?.id ?? `chatcmpl-${randomUUID()}`,
    object: 'chat.completion',
    created: Math.floor((made.response?.timestamp?.getTime() ?? Date.now()) / 1000),
    model: call.modelId,
    choices: [
      {
        index: 0,
        message: messageOf(made.content, kind),
        finish_reason: finishReasonOf(made.finishReason),
        logprobs: null,
      },
    ],
    ...(usage === null ? {} : { usage }),
  };
  return { text: String(await writeJson(parsed, timeSlicer)), parsed };
}

/** Converts a call to the AI SDK's options for this provider. @throws UpstreamError rejected */
async function optionsOf(
  { native, egress }: Pick<V4ChatOptions, 'native' | 'egress'>,
  ready: LanguageModelV4,
  call: ChatCall,
): Promise<LanguageModelV4CallOptions> {
  const { chat: ways = {} } = native;
  const signal = abortSignalOf(call.signal);
  const { prompt, responseFormat, tools, toolChoice, ...options } = callOptionsOf(native, {
    ...call,
    signal,
  });
  const asked = { responseFormat, tools, toolChoice };
  const format = ways.format?.(asked) ?? asked;
  return {
    ...options,
    ...format,
    ...(await ways.options?.(call, format)),
    prompt: await withPictures(ways.prompt?.(prompt, format) ?? prompt, ready, {
      egress,
      signal,
    }),
  };
}

/** Chat over a model of the AI SDK: converts our body to its options and its answer to the chat-completions form. */
export function createV4Chat(options: V4ChatOptions): ChatProvider {
  const { native, model, secrets, refused } = options;
  const { id: kind, chat: ways = {} } = native;
  const guarded = async <T>(call: ChatCall, ask: (model: LanguageModelV4) => PromiseLike<T>): Promise<T> => {
    if (call.signal.aborted) throw abortedError();
    checkChatFeatures(ways, call);
    try {
      return await ask(await model(call.modelId));
    } catch (error) {
      throw upstreamErrorOf(error, { secrets, signal: call.signal });
    }
  };
  /** Sends a call; if the upstream refuses an optional field, sends it once more without that field. */
  const sent = <T>(call: ChatCall, send: (call: ChatCall) => Promise<T>): Promise<T> =>
    refused.send(
      { path: 'chat', modelId: call.modelId, optional: () => optionalOfNative(call, CHAT_WORDS) },
      (without) => send(without.size === 0 ? call : { ...call, body: fieldsWithout(call.body, without) }),
    );
  const whole = async (call: ChatCall): Promise<ChatAnswer> => {
    const made = await guarded(call, async (ready) =>
      ready.doGenerate(await optionsOf(options, ready, call)),
    );
    return await answerOf(made, call, kind);
  };
  const streamed = async (call: ChatCall): Promise<ChatChunks> => {
    const controller = new AbortController();
    const signal = AbortSignal.any([abortSignalOf(call.signal), controller.signal]);
    const { stream } = await guarded(call, async (ready) =>
      ready.doStream(await optionsOf(options, ready, { ...call, signal })),
    );
    const chunks = new V4Chunks(stream, { kind, call, secrets, abort: () => controller.abort() });
    return await chunks.open();
  };
  return {
    complete: (asked: ChatCall): Promise<ChatAnswer> =>
      sent(asked, (call) =>
        callInEitherForm('whole', {
          whole: () => whole(call),
          streamed: async () => assembledChunks(await streamed(call), StreamedCalls.of(call.body)),
        }),
      ),
    stream: (asked: ChatCall): Promise<ChatChunks> =>
      sent(asked, (call) =>
        callInEitherForm('streamed', {
          streamed: () => streamed(call),
          whole: async () => oneChunk(await whole(call)),
        }),
      ),
  };
}

/** Converts a whole answer to a stream of one chunk; a long one comes in pieces. */
function oneChunk({ parsed }: ChatAnswer): ChatChunks {
  const whole = chunkOfAnswer(parsed);
  let pieces = whole && inPieces(whole);
  return {
    async next() {
      const piece = pieces?.next();
      if (piece === undefined || piece.done === true) return null;
      await timeSlicer.run(() => true);
      return String(await writeJson(piece.value, timeSlicer));
    },
    cancel: () => void (pieces = null),
  };
}

/** Assembles a stream to a whole answer. @throws UpstreamError */
async function assembledChunks(chunks: ChatChunks, calls: StreamedCalls): Promise<ChatAnswer> {
  const assembled = new AssembledAnswer(calls);
  for (let raw = await chunks.next(); raw !== null; raw = await chunks.next()) assembled.take(raw);
  const parsed = assembled.answer(true);
  return { text: JSON.stringify(parsed), parsed };
}
