import { textIn, wordIn } from './search.js';
import { MODEL_TYPES, TIERS } from './words.generated.js';

/** The filter of the list of models in its address. */
export interface ModelSearch {
  /** A part of the name or the id. */
  text?: string | undefined;
  type?: (typeof MODEL_TYPES)[number] | undefined;
  provider?: string | undefined;
  tier?: (typeof TIERS)[number] | undefined;
  /** `all`: also those that are not configured. Undefined: only those that are ready to use. */
  show?: 'all' | undefined;
}

/** @throws BadAddress */
export const readModelFilter = (search: Record<string, unknown>): ModelSearch => ({
  text: textIn(search, 'text'),
  type: wordIn(search, 'type', MODEL_TYPES),
  provider: textIn(search, 'provider'),
  tier: wordIn(search, 'tier', TIERS),
  show: wordIn(search, 'show', ['all']),
});
