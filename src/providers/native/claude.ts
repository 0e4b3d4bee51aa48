import type { ChatCall } from '../providers.types.js';
import { refuse } from './dropped-settings.js';
import type { FeatureOptions, FormatAsked } from './native-provider.types.js';

/** The least that Claude may be given to think with. */
const LEAST_TOKENS = 1024;
/** How much of an answer's cap is there for thinking. */
const SHARES: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
  max: 0.95,
};

/** How a Claude is told to think, in its packages' words; `none`: as little as one that was not asked to. */
export type Thinking = { type: 'enabled'; budgetTokens: number } | { type: 'adaptive' } | { type: 'none' };

/**
 * What `reasoning_effort` is to a Claude; null where it asks for nothing. The budget is a part of the cap, as a call
 * may cost no more than was reserved for it: left to themselves, the packages take a share of what the model can do at most. Where the
 * credits or the window leave no room for the least budget, it goes without: the call is as good as with more of them.
 * @throws UpstreamError rejected, where the caller's own cap leaves no room for it
 */
export async function thinkingOf(call: ChatCall): Promise<Thinking | null> {
  const { modelId, maxTokens, askedTokens = maxTokens, body } = call;
  const share = SHARES[body['reasoning_effort'] as string];
  if (share === undefined) return null;
  const { getModelCapabilities } = await import('@ai-sdk/anthropic/internal');
  if (getModelCapabilities(modelId).supportsAdaptiveThinking) return { type: 'adaptive' };
  if (askedTokens <= LEAST_TOKENS)
    refuse(modelId, `reasoning_effort with max_tokens below ${LEAST_TOKENS + 1}`);
  if (maxTokens <= LEAST_TOKENS) return { type: 'none' };
  return { type: 'enabled', budgetTokens: Math.max(LEAST_TOKENS, Math.floor(maxTokens * share)) };
}

/** What a Claude takes no other value of while it thinks: the contract's default and the maker's own, which both ask for nothing. */
const USUAL: Readonly<Record<string, readonly unknown[]>> = { temperature: [0.7, 1], top_p: [1] };

/**
 * Refuses what a Claude cannot do while it thinks, before it is asked: its packages leave that out, and say so only beside an answer that
 * was paid for.
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

/** What changes in a call where a Claude is to think. */
export function thinkingOptions(
  { maxTokens }: Pick<ChatCall, 'maxTokens'>,
  thinking: Thinking | null,
): FeatureOptions {
  if (thinking === null) return {};
  return {
    // The packages add the budget to it: what they send is the cap that was reserved.
    ...(thinking.type === 'enabled' ? { maxOutputTokens: maxTokens - thinking.budgetTokens } : {}),
    ...(thinking.type === 'adaptive' ? {} : { reasoning: 'provider-default' }),
    // One that thinks is told none; what is left of them here asks for nothing.
    ...(thinking.type === 'none' ? {} : { temperature: undefined }),
  };
}

/** A Claude's temperatures end at 1: its packages would send that instead. @throws UpstreamError rejected */
export function checkTemperature({ modelId, body }: Pick<ChatCall, 'modelId' | 'body'>): void {
  if (Number(body['temperature'] ?? 0) > 1) refuse(modelId, 'temperature above 1');
}

/**
 * The format with the tools beside it. `json_object` of models that want a schema is one that any object fits; their packages offer it as
 * one tool more and demand a call of any: so the format is left out where the caller demands a call of its own tools.
 */
export function formatBySchema(asked: FormatAsked): FormatAsked {
  const { responseFormat: format, ...tools } = asked;
  if (format?.type !== 'json') return asked;
  const choice = tools.toolChoice?.type;
  if (choice === 'required' || choice === 'tool') return tools;
  const schema = format.schema ?? { type: 'object', additionalProperties: true };
  return { ...tools, responseFormat: { ...format, schema } };
}
