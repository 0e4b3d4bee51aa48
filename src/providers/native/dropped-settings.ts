import type { SharedV4Warning } from '@ai-sdk/provider';
import { UpstreamError } from '../providers.types.js';

/** The packages' names of what they leave out, without where it stands in their own options, in the contract's words; others stay as they are. */
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

/** The contract's defaults (contract 4.1): they ask for nothing, so that it is no loss where a model has no word for them. */
const DEFAULTS: Readonly<Record<string, number>> = {
  temperature: 0.7,
  top_p: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
};

/** What is made up for here: sounds are brought to the format, pictures to the size and shape that were asked for. */
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
 * A package goes on without what a model cannot be told and says so in its warnings: the caller is told, instead of given something else.
 * @param asked the body, for the defaults among its values
 * @throws UpstreamError rejected `Model <name> does not support <what>`
 */
export function refuseDropped(
  warnings: readonly SharedV4Warning[],
  { modelId, asked = {} }: { modelId: string; asked?: Readonly<Record<string, unknown>> },
): void {
  for (const warning of warnings) {
    if (warning.type !== 'unsupported' || MADE_GOOD.has(warning.feature)) continue;
    const name = NAMES[warning.feature.replace(OWN_OPTIONS, '')] ?? warning.feature;
    if (name in DEFAULTS && (asked[name] ?? DEFAULTS[name]) === DEFAULTS[name]) continue;
    refuse(modelId, name);
  }
}
