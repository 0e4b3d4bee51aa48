import type { ChatBody } from '../providers.types.js';
import { checkChatFeatures, SAMPLES } from './chat-features.js';
import type { NativeProvider } from './native-provider.types.js';

/** Fields of the convention that its API refuses (it answers 422 to any that it does not know), and that change no answer. */
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
 * A body of the convention as its API takes it: `random_seed` for `seed`, `any` for `required`; usage comes without being asked for.
 * @throws UpstreamError rejected, where it asks for what it has no word for
 */
function dialect(body: ChatBody & { model: string }): Record<string, unknown> {
  checkChatFeatures({ lacks: SAMPLES }, { modelId: body.model, body });
  const known = Object.fromEntries(Object.entries(body).filter(([name]) => !UNKNOWN.has(name)));
  return {
    ...known,
    ...(body['seed'] === undefined ? {} : { random_seed: body['seed'] }),
    ...(body['tool_choice'] === 'required' ? { tool_choice: 'any' } : {}),
  };
}

/** Mistral. It speaks a dialect of the convention. */
export const mistral: NativeProvider = {
  id: 'mistral',
  variables: ['MISTRAL_API_KEY'],
  baseUrl: () => 'https://api.mistral.ai/v1',
  convention: true,
  outputCap: 'max_tokens',
  types: ['chat', 'embedding', 'stt'],
  chat: { dialect },
};
