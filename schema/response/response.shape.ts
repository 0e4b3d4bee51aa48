import { contractNames } from '../names.js';
import type { ResponseInput } from './response.input.js';
import type { Response, ResponseEvent, ResponseProgress } from './response.type.js';

type Fields = Record<string, unknown>;

/** Converts a request of GraphQL to the REST body. */
export function responseBody(input: ResponseInput): Fields {
  return contractNames(input);
}

interface WireUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

interface WireResponse {
  id: string;
  status: string;
  created_at: number;
  model: string;
  model_tier: string;
  previous_response_id: string | null;
  output: { type: string; content?: { type: string; text?: string }[] }[];
  usage?: WireUsage | null;
  credits_used?: number;
}

/** A response's JSON text as the GraphQL type. */
export function parseResponse(json: string): Response {
  const wire = JSON.parse(json) as WireResponse;
  const { usage } = wire;
  const texts = wire.output.flatMap(({ type, content }) => (type === 'message' ? (content ?? []) : []));
  return {
    id: wire.id,
    status: wire.status,
    createdAt: new Date(wire.created_at * 1000),
    model: wire.model,
    modelTier: wire.model_tier,
    previousResponseId: wire.previous_response_id,
    outputText: texts.map(({ type, text }) => (type === 'output_text' ? (text ?? '') : '')).join(''),
    output: wire.output,
    usage:
      usage == null
        ? null
        : {
            inputTokens: usage.input_tokens,
            cachedTokens: usage.input_tokens_details.cached_tokens,
            outputTokens: usage.output_tokens,
            reasoningTokens: usage.output_tokens_details.reasoning_tokens,
            totalTokens: usage.total_tokens,
            creditsUsed: wire.credits_used ?? 0,
          },
    object: wire,
  };
}

/** One event's JSON text as the GraphQL type. */
export function parseResponseEvent(json: string): ResponseEvent {
  const event = JSON.parse(json) as { type: string; sequence_number: number };
  return { sequenceNumber: event.sequence_number, type: event.type, event };
}

/** The same for a response in the background. */
export function parseResponseProgress(id: string, json: string): ResponseProgress {
  const { sequenceNumber, type, event } = parseResponseEvent(json);
  return { id, sequence: sequenceNumber + 1, type, event };
}
