import { UpstreamError } from '../providers.types.js';
import type { ChatCall } from '../providers.types.js';
import type { NativeKind } from './kinds.js';

/** Parameters of the convention that change an answer, and whether a request uses them. */
const USED: Readonly<Record<string, (body: ChatCall['body']) => boolean>> = {
  frequency_penalty: (body) => Number(body['frequency_penalty'] ?? 0) !== 0,
  presence_penalty: (body) => Number(body['presence_penalty'] ?? 0) !== 0,
  seed: (body) => body['seed'] != null,
  logprobs: (body) => body['logprobs'] === true,
  logit_bias: (body) => Object.keys(body['logit_bias'] ?? {}).length > 0,
  parallel_tool_calls: (body) => body['parallel_tool_calls'] === false && Array.isArray(body['tools']),
};

/** What makers' own APIs have no word for, or their packages do not pass on. */
const LACKING: Partial<Record<NativeKind, readonly (keyof typeof USED)[]>> = {
  anthropic: ['frequency_penalty', 'presence_penalty', 'seed', 'logprobs', 'logit_bias'],
  'amazon-bedrock': [
    'frequency_penalty',
    'presence_penalty',
    'seed',
    'logprobs',
    'logit_bias',
    'parallel_tool_calls',
  ],
  google: ['logprobs', 'logit_bias', 'parallel_tool_calls'],
  cohere: ['logprobs', 'logit_bias', 'parallel_tool_calls'],
};

/**
 * Refuses what would silently be left out.
 * @throws UpstreamError rejected `Model <name> does not support <parameter>`
 */
export function checkChatFeatures(kind: NativeKind, { modelId, body }: ChatCall): void {
  const missing = LACKING[kind]?.find((name) => USED[name]?.(body));
  if (missing === undefined) return;
  throw new UpstreamError(`Model ${modelId} does not support ${missing}`, {
    status: 400,
    retryable: false,
    fault: 'rejected',
  });
}

/** One tool at a time, in the words of the maker that has some for it. */
export function featureOptions(
  kind: NativeKind,
  { body }: ChatCall,
): { providerOptions?: { anthropic: { disableParallelToolUse: true } } } {
  if (kind !== 'anthropic' || !USED['parallel_tool_calls']?.(body)) return {};
  return { providerOptions: { anthropic: { disableParallelToolUse: true } } };
}
