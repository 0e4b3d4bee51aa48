import { finishReason } from '../convention/finish-reasons.js';
import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider';

const FINISH: Partial<Record<LanguageModelV4FinishReason['unified'], string>> = {
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
};

/** The finish reason in the chat-completions form: from the package's value, else from the provider's own. */
export const finishReasonOf = ({ unified, raw }: LanguageModelV4FinishReason): string =>
  FINISH[unified] ?? (unified === 'stop' ? 'stop' : finishReason(raw, false));

/** Whether the provider did not finish the answer; one provider reports a time-out as `TIMEOUT`. */
export const isFailed = ({ unified, raw }: LanguageModelV4FinishReason): boolean =>
  unified === 'error' || raw === 'TIMEOUT';

/** Cached and written parts of the prompt; the latter cost more at some makers. */
function inputDetailsOf({
  cacheRead,
  cacheWrite,
}: LanguageModelV4Usage['inputTokens']): Record<string, unknown> {
  if (!cacheRead && !cacheWrite) return {};
  const written = cacheWrite ? { cache_write_tokens: cacheWrite } : {};
  return { prompt_tokens_details: { cached_tokens: cacheRead ?? 0, ...written } };
}

/** Usage in the chat-completions form; null if counts are missing: the caller then counts the text. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Record<string, unknown> | null {
  const [prompt, completion] = [inputTokens.total, outputTokens.total];
  if (prompt === undefined || completion === undefined) return null;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...inputDetailsOf(inputTokens),
    ...(outputTokens.reasoning
      ? { completion_tokens_details: { reasoning_tokens: outputTokens.reasoning } }
      : {}),
  };
}
