import { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { Attempt, Routed, Router } from './routing.js';

/**
 * Asks the model's provider, again where that may help, then its fallbacks.
 * @throws ApiError invalid_request where the upstream rejected the request itself, UpstreamError for any other fault
 */
export async function callUpstream<T>(
  router: Router,
  model: Model,
  { signal, attempt }: { signal: AbortSignal; attempt: Attempt<T> },
): Promise<Routed<T>> {
  try {
    return await router.route(model, signal, attempt);
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.fault !== 'rejected') throw error;
    throw new ApiError('invalid_request', error.message, { cause: error });
  }
}
