import type { SharedV4Warning } from '@ai-sdk/provider';
import { UpstreamError } from '../providers.types.js';

/** The packages' names of dropped settings → the contract's names. The prefix of the packages' own options is removed; other names stay unchanged. */
const NAMES: Readonly<Record<string, string>> = {
  topP: 'top_p',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  stopSequences: 'stop',
  maxOutputTokens: 'max_tokens',
  responseFormat: 'response_format',
  toolChoice: 'tool_choice',
  reasoning: 'reasoning_effort',
  thinking: 'reasoning_effort',
  effort: 'reasoning_effort',
};

const OWN_OPTIONS = /^providerOptions\.\w+\./;

/** The contract's defaults (contract 4.1): dropping them changes nothing. */
const DEFAULTS: Readonly<Record<string, number>> = {
  temperature: 0.7,
  top_p: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
};

/** Settings that Penstock applies itself: it converts audio to the requested format and images to the requested size and shape. */
const MADE_GOOD: ReadonlySet<string> = new Set(['outputFormat', 'size', 'aspectRatio']);

/** @throws UpstreamError rejected, always */
export function refuse(modelId: string, what: string): never {
  throw new UpstreamError(`Model ${modelId} does not support ${what}`, {
    status: 400,
    retryable: false,
    fault: 'rejected',
  });
}

/**
 * A package drops settings that a model does not support and reports that in its warnings. The caller then gets an error, not a different result.
 * @param asked the body, to find which values are defaults
 * @throws UpstreamError rejected `Model <name> does not support <what>`
 */
export function refuseDropped(
  warnings: readonly SharedV4Warning[],
  { modelId, requested = {} }: { modelId: string; requested?: Readonly<Record<string, unknown>> },
): void {
  for (const warning of warnings) {
    if (warning.type !== 'unsupported' || MADE_GOOD.has(warning.feature)) continue;
    const name = NAMES[warning.feature.replace(OWN_OPTIONS, '')] ?? warning.feature;
    if (name in DEFAULTS && (requested[name] ?? DEFAULTS[name]) === DEFAULTS[name]) continue;
    refuse(modelId, name);
  }
}
