import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { findTokenParts, findUsage } from '../../src/providers/index.js';
import type { TokenParts } from '../../src/providers/convention/usage.js';
import { usageOf } from '../../src/providers/native/v4-finish-and-usage.js';

const parts = (
  cachedInput: number | null,
  cacheWrite: number | null,
  reasoning: number | null,
): TokenParts => ({
  cachedInput,
  cacheWrite,
  reasoning,
});

describe('the parts of its tokens that an upstream tells', () => {
  it.each<[string, Record<string, unknown>, TokenParts]>([
    [
      "chat's",
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
      parts(4, 2, 3),
    ],
    [
      "Responses'",
      {
        input_tokens: 10,
        output_tokens: 5,
        input_tokens_details: { cached_tokens: 4 },
        output_tokens_details: { reasoning_tokens: 3 },
      },
      parts(4, null, 3),
    ],
    [
      "Messages'",
      {
        input_tokens: 4,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 2,
        output_tokens: 5,
        output_tokens_details: { thinking_tokens: 3 },
      },
      parts(4, 2, 3),
    ],
    [
      "DeepSeek's",
      { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 },
      parts(4, null, null),
    ],
    [
      "Gemini's own",
      {
        promptTokenCount: 10,
        candidatesTokenCount: 2,
        cachedContentTokenCount: 4,
        thoughtsTokenCount: 3,
        totalTokenCount: 15,
      },
      parts(4, null, 3),
    ],
    ['of none', { prompt_tokens: 10, completion_tokens: 5 }, parts(null, null, null)],
    ['a told 0', { prompt_tokens_details: { cached_tokens: 0 } }, parts(0, null, null)],
    [
      'what cannot be a count',
      { prompt_tokens_details: { cached_tokens: -1 }, completion_tokens_details: 'none' },
      parts(null, null, null),
    ],
  ])('%s', (_, usage, told) => {
    expect(findTokenParts(usage)).toEqual(told);
    // The words of chat that the counts are given in keep them.
    expect(findTokenParts(findUsage({ usage }) ?? usage)).toEqual(told);
  });

  it("those of a provider's package, written ones too", () => {
    const usage = {
      inputTokens: { total: 10, noCache: 4, cacheRead: 4, cacheWrite: 2 },
      outputTokens: { total: 5, text: 2, reasoning: 3 },
    } as LanguageModelV4Usage;
    expect(findTokenParts(usageOf(usage) ?? {})).toEqual(parts(4, 2, 3));
    const bare = { inputTokens: { total: 10 }, outputTokens: { total: 5 } } as LanguageModelV4Usage;
    expect(usageOf(bare)).toEqual({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
  });

  it('Messages leaves cached input out of its input tokens, and ours holds it', () => {
    const usage = {
      input_tokens: 4,
      cache_read_input_tokens: 4,
      cache_creation_input_tokens: 2,
      output_tokens: 5,
    };
    expect(findUsage({ usage })).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
  });
});
