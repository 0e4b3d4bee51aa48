import type { Provider } from '../providers.types.js';
import type { Transport } from './transport.js';
import { brokenAnswer } from './upstream-errors.js';

/** Moderation of an upstream that offers it (`POST /moderations`); its answer passes as it is. */
export function createModeration(transport: Transport): NonNullable<Provider['moderate']> {
  return async (body, signal) => {
    const text = await transport.postJson('/moderations', JSON.stringify(body), { signal });
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      throw brokenAnswer('broken JSON');
    }
    const { id, model, results } = (parsed ?? {}) as Record<string, unknown>;
    if (!Array.isArray(results)) throw brokenAnswer('no results');
    return { id: String(id ?? ''), model: String(model ?? ''), results: results as unknown[] };
  };
}
