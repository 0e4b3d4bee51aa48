import type { Provider } from '../providers.types.js';
import type { Transport } from './transport.js';
import { brokenAnswer } from './upstream-errors.js';

/** Moderation of an upstream that offers it (`POST /moderations`); its answer passes as it is. */
export function createModeration(transport: Transport): NonNullable<Provider['moderate']> {
  return async (body, signal) => {
    const bytes = await transport.postForBytes('/moderations', JSON.stringify(body), { signal });
    const parsed = await transport.readAnswer(bytes);
    const { id, model, results } = (parsed ?? {}) as Record<string, unknown>;
    if (!Array.isArray(results)) throw brokenAnswer('no results');
    return { id: String(id ?? ''), model: String(model ?? ''), results: results as unknown[] };
  };
}
