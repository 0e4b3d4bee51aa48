import type { Settlement, TokenClasses } from '../../metering/metering.types.js';
import type { Model } from '../../models/models.types.js';
import { isFields, tokenClasses, tokenCount, findUsage } from '../../providers/index.js';

/** Tokens of one call, as they are charged and shown. */
export interface Tokens {
  prompt: number;
  completion: number;
  total: number;
}

/** The multiplier of a model's tokens in hundredths, including its own base price for 1,000 tokens (PROVIDERS_FILE `price.credits`). */
export function tokenRate(model: Model): number {
  return Math.max(1, Math.round(model.multiplier * model.pricing.credits));
}

/** An upstream's own counts, or null if they cannot be used. `prompt`, `completion`: null if it does not report them. */
interface Told {
  prompt: number | null;
  completion: number | null;
  total: number;
}

function reportedTokens(usage: unknown): Told | null {
  if (typeof usage !== 'object' || usage === null) return null;
  const { prompt_tokens, completion_tokens, total_tokens } = usage as Record<string, unknown>;
  const [prompt, completion] = [tokenCount(prompt_tokens), tokenCount(completion_tokens)];
  // Some upstreams count hidden reasoning only in the total; the caller pays for it.
  const total = Math.max((prompt ?? 0) + (completion ?? 0), tokenCount(total_tokens) ?? 0);
  return total === 0 ? null : { prompt, completion, total };
}

/**
 * The tokens of a whole answer: the upstream's counts, or our own where those are missing or impossible (no tokens for the prompt, or for an
 * answer with text). Synchronous unless a long text must be counted.
 */
export function answerTokens(
  usage: unknown,
  own: { prompt: number; completion: () => number | Promise<number>; generated: () => boolean },
): Tokens | Promise<Tokens> {
  const told = reportedTokens(usage);
  const prompt = told?.prompt || own.prompt;
  // Nearly all upstreams report it; if only the total is reported, the rest belongs to the answer.
  const said =
    told === null ? null : (told.completion ?? (told.prompt === null ? told.total - prompt : null));
  const tokensOf = (completion: number): Tokens => ({
    prompt,
    completion,
    total: Math.max(prompt + completion, told?.total ?? 0),
  });
  if (said !== null && (said > 0 || !own.generated())) return tokensOf(Math.max(said, 0));
  const counted = own.completion();
  return typeof counted === 'number' ? tokensOf(counted) : counted.then(tokensOf);
}

/** Converts a usage of any convention to the names of chat. */
export const toChatUsage = (reported: unknown): Record<string, unknown> | null =>
  isFields(reported) ? findUsage({ usage: reported }) : null;

/** The tokens by class of an answer that broke off: as its upstream reported them so far, else as counted here. */
export function interruptedClasses(
  reported: unknown,
  { prompt, delivered }: { prompt: number; delivered: number },
): TokenClasses {
  const told = reportedTokens(toChatUsage(reported));
  const input = told?.prompt || prompt;
  const completion = Math.max(told?.completion ?? 0, delivered);
  return tokenClasses({ prompt: input, completion, total: input + completion }, reported);
}

/** The `usage` object of contract 2.3; the upstream's other members (token details) stay in it. */
export function chatUsage(options: {
  tokens: Tokens;
  reported: unknown;
  settlement: Settlement;
  model: Model;
}): Record<string, unknown> {
  const { tokens, settlement, model } = options;
  const remaining = settlement.balances.credits.remaining;
  return {
    ...(typeof options.reported === 'object' ? options.reported : {}),
    prompt_tokens: tokens.prompt,
    completion_tokens: tokens.completion,
    total_tokens: tokens.total,
    credits_used: (settlement.charged.credits ?? 0) / 100,
    credits_breakdown: { base: Math.max(1, Math.ceil((tokens.total * model.pricing.credits) / 1000)) },
    tokens_remaining_estimate: remaining < 0 ? -1 : Math.floor((remaining * 100_000) / tokenRate(model)),
  };
}
