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

/** How a Claude is told to think, in its packages' words. */
export type Thinking = { type: 'enabled'; budgetTokens: number } | { type: 'adaptive' };

const isClaude = (kind: NativeKind, modelId: string): boolean =>
  kind === 'anthropic' || (kind === 'amazon-bedrock' && modelId.includes('anthropic'));

/** Amazon's own model that takes no cap where it is to think hard: its package leaves the cap out. */
const takesNoCap = (kind: NativeKind, { modelId, body }: ChatCall): boolean =>
  kind === 'amazon-bedrock' &&
  modelId.includes('amazon.nova-2-lite') &&
  ['high', 'xhigh', 'max'].includes(body['reasoning_effort'] as string);

/**
 * What `reasoning_effort` is to a Claude; null where it asks for nothing, and for other models. The budget is a part of the cap, as a call
 * may cost no more than was reserved for it: left to themselves, the packages take a share of what the model can do at most.
 * @throws UpstreamError rejected, where the least budget leaves nothing for the answer, and where the model takes no cap
 */
export async function thinkingFor(kind: NativeKind, call: ChatCall): Promise<Thinking | null> {
  const { modelId, maxTokens, body } = call;
  if (takesNoCap(kind, call)) refuse(modelId, 'this reasoning_effort');
  const share = SHARES[body['reasoning_effort'] as string];
  if (share === undefined || !isClaude(kind, modelId)) return null;
  const { getModelCapabilities } = await import('@ai-sdk/anthropic/internal');
  if (getModelCapabilities(modelId).supportsAdaptiveThinking) return { type: 'adaptive' };
  if (maxTokens <= LEAST_TOKENS)
    refuse(modelId, `reasoning_effort with max_tokens below ${LEAST_TOKENS + 1}`);
  return { type: 'enabled', budgetTokens: Math.max(LEAST_TOKENS, Math.floor(maxTokens * share)) };
}
