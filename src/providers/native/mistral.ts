import type { ChatBody } from '../providers.types.js';
import { checkChatFeatures, SAMPLES } from './chat-features.js';
import type { NativeProvider } from './native-provider.types.js';

/** Fields that do not change the answer and that its API refuses (it answers 422 to unknown fields). */
const UNKNOWN = new Set([
  'stream_options',
  'seed',
  'user',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'safety_identifier',
  'prompt_cache_key',
]);

/**
 * Converts a chat-completions body for Mistral's API: `random_seed` for `seed`, `any` for `required`; usage is always included.
 * @throws UpstreamError rejected, if it uses an unsupported parameter
 */
function dialect(body: ChatBody & { model: string }): Record<string, unknown> {
  checkChatFeatures({ unsupportedFeatures: SAMPLES }, { modelId: body.model, body });
  const known = Object.fromEntries(Object.entries(body).filter(([name]) => !UNKNOWN.has(name)));
  return {
    ...known,
    ...(body['seed'] === undefined ? {} : { random_seed: body['seed'] }),
    ...(body['tool_choice'] === 'required' ? { tool_choice: 'any' } : {}),
  };
}

/** Mistral, whose API is a variant of the chat-completions convention. */
export const mistral: NativeProvider = {
  id: 'mistral',
  variables: ['MISTRAL_API_KEY'],
  baseUrl: () => 'https://api.mistral.ai/v1',
  convention: true,
  outputCap: 'max_tokens',
  types: ['chat', 'embedding', 'stt'],
  chat: { dialect },
};
