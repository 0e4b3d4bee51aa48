import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ChatCall } from '../providers.types.js';
import { refuse } from './dropped.js';
import type { NativeKind } from './kinds.js';

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

const isClaude = (kind: NativeKind, modelId: string): boolean =>
  kind === 'anthropic' || (kind === 'amazon-bedrock' && modelId.includes('anthropic'));

/** Amazon's own model that takes no cap where it is to think hard: its package leaves the cap out. */
const takesNoCap = (kind: NativeKind, { modelId, body }: ChatCall): boolean =>
  kind === 'amazon-bedrock' &&
  modelId.includes('amazon.nova-2-lite') &&
  ['high', 'xhigh', 'max'].includes(body['reasoning_effort'] as string);

/**
 * What `reasoning_effort` is to a Claude; null where it asks for nothing, and for other models. The budget is a part of the cap, as a call
 * may cost no more than was reserved for it: left to themselves, the packages take a share of what the model can do at most. Where the
 * credits or the window leave no room for the least budget, it goes without: the call is as good as with more of them.
 * @throws UpstreamError rejected, where the caller's own cap leaves no room for it, and where the model takes no cap
 */
export async function thinkingFor(kind: NativeKind, call: ChatCall): Promise<Thinking | null> {
  const { modelId, maxTokens, askedTokens = maxTokens, body } = call;
  if (takesNoCap(kind, call)) refuse(modelId, 'this reasoning_effort');
  const share = SHARES[body['reasoning_effort'] as string];
  if (share === undefined || !isClaude(kind, modelId)) return null;
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
export async function checkBesideThinking(
  kind: NativeKind,
  { modelId, body }: Pick<ChatCall, 'modelId' | 'body'>,
  asked: { thinking: Thinking | null } & Pick<LanguageModelV4CallOptions, 'responseFormat' | 'toolChoice'>,
): Promise<void> {
  const { thinking, responseFormat: format, toolChoice } = asked;
  if (thinking === null || thinking.type === 'none') return;
  for (const [name, values] of Object.entries(USUAL))
    if (body[name] != null && !values.includes(body[name]))
      refuse(modelId, `${name} beside reasoning_effort`);
  if (kind !== 'anthropic' || thinking.type !== 'enabled') return;
  if (toolChoice?.type === 'required' || toolChoice?.type === 'tool')
    refuse(modelId, 'this tool_choice beside reasoning_effort');
  if (format?.type !== 'json') return;
  const { getModelCapabilities, supportsNativeStructuredOutputSchema } =
    await import('@ai-sdk/anthropic/internal');
  // Other schemas it can only be held to by a tool that it has to call.
  const bySchema =
    getModelCapabilities(modelId).supportsStructuredOutput &&
    format.schema !== undefined &&
    supportsNativeStructuredOutputSchema(format.schema);
  if (!bySchema) refuse(modelId, 'this response_format beside reasoning_effort');
}
