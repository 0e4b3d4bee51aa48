import type { ChatBody } from '../providers.types.js';
import { checkChatFeatures } from './chat-features.js';

/** Fields of the convention that Mistral's API refuses (it answers 422 to any that it does not know), and that change no answer. */
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
 * A body of the convention as Mistral takes it: `random_seed` for `seed`, `any` for `required`; usage comes without being asked for.
 * @throws UpstreamError rejected, where it asks for what Mistral has no word for
 */
export function mistralDialect(body: ChatBody & { model: string }): Record<string, unknown> {
  checkChatFeatures('mistral', { modelId: body.model, body });
  const known = Object.fromEntries(Object.entries(body).filter(([name]) => !UNKNOWN.has(name)));
  return {
    ...known,
    ...(body['seed'] === undefined ? {} : { random_seed: body['seed'] }),
    ...(body['tool_choice'] === 'required' ? { tool_choice: 'any' } : {}),
  };
}
