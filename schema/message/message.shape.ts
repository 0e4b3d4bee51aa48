import { contractNames } from '../names.js';
import type { MessageInput } from './message.input.js';
import type { Message, MessageEvent } from './message.type.js';

type Fields = Record<string, unknown>;

/** Converts a request of GraphQL to the REST body. */
export function messageBody(input: MessageInput): Fields {
  return contractNames(input);
}

interface WireMessage {
  id: string;
  model: string;
  model_tier: string;
  stop_reason: string | null;
  content: { type: string; text?: string }[];
  usage: {
    input_tokens: number;
    cache_creation_input_tokens: number;
    cache_read_input_tokens: number;
    output_tokens: number;
    credits_used: number;
  };
}

/** A message's JSON text as the GraphQL type. */
export function parseMessage(json: string): Message {
  const wire = JSON.parse(json) as WireMessage;
  const { usage } = wire;
  return {
    id: wire.id,
    model: wire.model,
    modelTier: wire.model_tier,
    stopReason: wire.stop_reason,
    text: wire.content.map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join(''),
    usage: {
      inputTokens: usage.input_tokens,
      cacheCreationInputTokens: usage.cache_creation_input_tokens,
      cacheReadInputTokens: usage.cache_read_input_tokens,
      outputTokens: usage.output_tokens,
      creditsUsed: usage.credits_used,
    },
    object: wire,
  };
}

/** One event's JSON text as the GraphQL type. */
export function parseMessageEvent(json: string): MessageEvent {
  const event = JSON.parse(json) as { type: string };
  return { type: event.type, event };
}
