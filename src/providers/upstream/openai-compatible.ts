import { parseShallow } from '../../json.js';
import type {
  ChatAnswer,
  ChatBody,
  ChatCall,
  ChatChunks,
  ChatObject,
  ChatProvider,
} from '../providers.types.js';
import { ChunkExchange } from './chunk-exchange.js';
import { textOf } from './transport.js';
import type { Transport } from './transport.js';
import { brokenAnswer, isFailedChoice, kindOfError } from './upstream-errors.js';

const CHAT_PATH = '/chat/completions';

/** The body as the upstream gets it: its own model name, the reserved cap in its spelling, usage always asked for. */
function bodyOf(call: ChatCall, stream: boolean, dialect: ChatDialect | undefined): string {
  const body = {
    ...call.body,
    model: call.modelId,
    [call.outputCap]: call.maxTokens,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  return JSON.stringify(dialect === undefined ? body : dialect(body));
}

/** What an upstream spells otherwise than the convention, or refuses: changes the body as it is about to be sent. */
export type ChatDialect = (body: ChatBody & { model: string }) => Record<string, unknown>;

function parseAnswer(bytes: Buffer): ChatAnswer {
  const text = textOf(bytes);
  let parsed: unknown;
  try {
    parsed = parseShallow(text);
  } catch {
    throw brokenAnswer('broken JSON');
  }
  const { choices, error } = (parsed ?? {}) as Partial<ChatObject>;
  if (error != null) throw brokenAnswer(`an error with status 200${kindOfError(error)}`);
  if (!Array.isArray(choices) || choices.length === 0) throw brokenAnswer('no choices');
  const failed = (choices as unknown[]).find(isFailedChoice) as { error?: unknown } | undefined;
  if (failed !== undefined) throw brokenAnswer(`a choice that failed${kindOfError(failed.error)}`);
  return { text, parsed: parsed as ChatObject };
}

/** Chat over any upstream that speaks the common chat-completions convention: a thin pass over undici. */
export function createOpenAiCompatibleChat(transport: Transport, dialect?: ChatDialect): ChatProvider {
  return {
    complete(call: ChatCall): Promise<ChatAnswer> {
      const body = bodyOf(call, false, dialect);
      return transport.postForBytes(CHAT_PATH, body, { signal: call.signal }).then(parseAnswer);
    },
    stream(call: ChatCall): Promise<ChatChunks> {
      const body = bodyOf(call, true, dialect);
      return new ChunkExchange(call.signal, transport.secrets).open(transport, CHAT_PATH, body);
    },
  };
}
