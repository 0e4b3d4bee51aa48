import { timeSlicer } from '../../src/collections/time-slicer.js';
import { readJsonText } from '../../src/text/read-json.js';
import { contractNames } from '../names.js';
import type { ChatCompletion, ChatCompletionChunk, ChatMessage, ChatUsage } from './chat.type.js';
import type { ChatCompletionInput } from './chat.input.js';

/** Converts a chat request of GraphQL to the REST body (tools, formats and other JSON stay unchanged). */
export function chatBody(input: ChatCompletionInput): Record<string, unknown> {
  return { ...contractNames(input), messages: input.messages.map(contractNames) };
}

interface WireMessage {
  role?: string;
  content?: string | null;
  reasoning_content?: unknown;
  reasoning?: unknown;
  tool_calls?: unknown;
  function_call?: unknown;
}

interface WireUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  credits_used: number;
  credits_breakdown: { base: number };
  tokens_remaining_estimate: number;
}

interface WireCompletion {
  id: string;
  object: string;
  created: number;
  model: string;
  model_tier?: string;
  choices: {
    index: number;
    message?: WireMessage;
    delta?: WireMessage;
    finish_reason?: string | null;
    logprobs?: unknown;
  }[];
  usage?: WireUsage | null;
  citations?: unknown;
}

/** The reasoning text, under any of the names that upstreams use; most use `reasoning_content`. */
function reasoningIn({ reasoning_content: content, reasoning }: WireMessage): string | null {
  const said = content ?? reasoning;
  return typeof said === 'string' ? said : null;
}

const message = (wire: WireMessage = {}): ChatMessage => ({
  role: wire.role ?? null,
  content: wire.content ?? null,
  reasoning: reasoningIn(wire),
  toolCalls: wire.tool_calls ?? null,
  functionCall: wire.function_call ?? null,
});

/** The addresses that a web search found; other values in this field of an upstream are ignored. */
const citations = (wire: unknown): string[] | null =>
  Array.isArray(wire) ? wire.filter((address) => typeof address === 'string') : null;

const usage = (wire: WireUsage): ChatUsage => ({
  promptTokens: wire.prompt_tokens,
  completionTokens: wire.completion_tokens,
  totalTokens: wire.total_tokens,
  creditsUsed: wire.credits_used,
  creditsBreakdown: wire.credits_breakdown,
  tokensRemainingEstimate: wire.tokens_remaining_estimate,
});

/** A chat completion's JSON text as the GraphQL type. */
export async function parseChatCompletion(json: string): Promise<ChatCompletion> {
  const wire = (await readJsonText(json, timeSlicer)) as WireCompletion & {
    model_tier: string;
    usage: WireUsage;
  };
  return {
    id: wire.id,
    object: wire.object,
    created: wire.created,
    model: wire.model,
    modelTier: wire.model_tier,
    choices: wire.choices.map((choice) => ({
      index: choice.index,
      message: message(choice.message),
      finishReason: choice.finish_reason ?? null,
      logprobs: choice.logprobs ?? null,
    })),
    usage: usage(wire.usage),
    citations: citations(wire.citations),
  };
}

/** One streamed chunk's JSON text as the GraphQL type. */
export function parseChatChunk(json: string): ChatCompletionChunk {
  const wire = JSON.parse(json) as WireCompletion;
  return {
    id: wire.id,
    object: wire.object,
    created: wire.created,
    model: wire.model,
    choices: wire.choices.map((choice) => ({
      index: choice.index,
      delta: message(choice.delta),
      finishReason: choice.finish_reason ?? null,
      logprobs: choice.logprobs ?? null,
    })),
    modelTier: wire.model_tier ?? null,
    usage: wire.usage ? usage(wire.usage) : null,
    citations: citations(wire.citations),
  };
}
