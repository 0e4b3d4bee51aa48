import type { ChatCall } from '../providers.types.js';
import { refuse } from './dropped-settings.js';
import type { FeatureOptions, FormatOptions } from './native-provider.types.js';

/** The minimum of a Claude's thinking budget. */
const LEAST_TOKENS = 1024;
/** The thinking budget as a part of the maximum of tokens, by effort. */
const SHARES: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
  max: 0.95,
};

/** A Claude's thinking, as its packages take it; `none`: no thinking. */
export type Thinking = { type: 'enabled'; budgetTokens: number } | { type: 'adaptive' } | { type: 'none' };

/**
 * Converts `reasoning_effort` for a Claude; null if it is not set. The budget is a part of the reserved maximum, because a call may not cost more
 * than was reserved (by default the packages take a part of the model's own maximum). If credits or the context window leave no room for the
 * minimum budget, the model answers without thinking.
 * @throws UpstreamError rejected, if the caller's own `max_tokens` leaves no room for it
 */
export async function thinkingOf(call: ChatCall): Promise<Thinking | null> {
  const { modelId, maxTokens, requestedTokens = maxTokens, body } = call;
  const share = SHARES[body['reasoning_effort'] as string];
  if (share === undefined) return null;
  const { getModelCapabilities } = await import('@ai-sdk/anthropic/internal');
  if (getModelCapabilities(modelId).supportsAdaptiveThinking) return { type: 'adaptive' };
  if (requestedTokens <= LEAST_TOKENS)
    refuse(modelId, `reasoning_effort with max_tokens below ${LEAST_TOKENS + 1}`);
  if (maxTokens <= LEAST_TOKENS) return { type: 'none' };
  return { type: 'enabled', budgetTokens: Math.max(LEAST_TOKENS, Math.floor(maxTokens * share)) };
}

/** The only values that a thinking Claude accepts: the contract's default and its maker's. */
const USUAL: Readonly<Record<string, readonly unknown[]>> = { temperature: [0.7, 1], top_p: [1] };

/**
 * Refuses what a Claude does not support while it thinks, before the request is sent. Its packages would leave it out, and report that only
 * together with an answer that is already paid for.
 * @throws UpstreamError rejected
 */
export function checkBesideThinking(
  { modelId, body }: Pick<ChatCall, 'modelId' | 'body'>,
  thinking: Thinking | null,
): void {
  if (thinking === null || thinking.type === 'none') return;
  for (const [name, values] of Object.entries(USUAL))
    if (body[name] != null && !values.includes(body[name]))
      refuse(modelId, `${name} beside reasoning_effort`);
}

/** The options of a call in which a Claude thinks. */
export function thinkingOptions(
  { maxTokens }: Pick<ChatCall, 'maxTokens'>,
  thinking: Thinking | null,
): FeatureOptions {
  if (thinking === null) return {};
  return {
    // The packages add the budget to this value, so they send the reserved maximum.
    ...(thinking.type === 'enabled' ? { maxOutputTokens: maxTokens - thinking.budgetTokens } : {}),
    ...(thinking.type === 'adaptive' ? {} : { reasoning: 'provider-default' }),
    // A thinking Claude gets no temperature; the remaining values are defaults.
    ...(thinking.type === 'none' ? {} : { temperature: undefined }),
  };
}

/** A Claude's temperature is at most 1; its packages would reduce a higher one to 1. @throws UpstreamError rejected */
export function checkTemperature({ modelId, body }: Pick<ChatCall, 'modelId' | 'body'>): void {
  if (Number(body['temperature'] ?? 0) > 1) refuse(modelId, 'temperature above 1');
}

/**
 * The response format, with the tools. For models that need a schema, `json_object` becomes a schema that accepts any object. Their packages
 * offer the schema as a further tool and require a call of some tool; so the format is left out if the caller requires a call of its own tools.
 */
export function formatBySchema(requested: FormatOptions): FormatOptions {
  const { responseFormat: format, ...tools } = requested;
  if (format?.type !== 'json') return requested;
  const choice = tools.toolChoice?.type;
  if (choice === 'required' || choice === 'tool') return tools;
  const schema = format.schema ?? { type: 'object', additionalProperties: true };
  return { ...tools, responseFormat: { ...format, schema } };
}
