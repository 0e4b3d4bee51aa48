import { isLonger } from '../text/characters.js';
import { invalid } from '../contract/errors.js';

/** What a key may have of its own (beyond 13.4). */
export interface KeyLimits {
  /** Ids of models, and `provider/*`. Null: all. */
  models?: readonly string[] | null;
  /** The key's own window, where it is smaller than the plan's. Null: the plan's. */
  rate?: { rpm: number; burst: number } | null;
  /** What all of its calls count for, whatever they say themselves. */
  endUser?: string | null;
  tags?: readonly string[];
}

export const MAX_TAGS = 10;
export const MAX_END_USER = 256;
const MAX_MODELS = 100;
const MAX_MODEL = 200;
const MODEL = /^[^/\s]+\/\S+$/;
const TAG = /^[A-Za-z0-9_.:/-]{1,64}$/;

/** Whether a text can be a tag (beyond 13.1). */
export const isTag = (text: string): boolean => TAG.test(text);

/** @throws ApiError invalid_request */
export function checkKeyLimits({ models, rate, endUser, tags = [] }: KeyLimits): void {
  if (models != null && (models.length === 0 || models.length > MAX_MODELS))
    throw invalid(`models must name 1 to ${MAX_MODELS} models`, 'models');
  const odd = models?.find((model) => model.length > MAX_MODEL || !MODEL.test(model));
  if (odd !== undefined) throw invalid('models must be ids such as acme/large, or acme/*', 'models');
  if (rate != null && !(isCount(rate.rpm) && isCount(rate.burst)))
    throw invalid('rate must have rpm and burst from 1 to 1000000', 'rate');
  if (endUser != null && (endUser.trim() === '' || isLonger(endUser, MAX_END_USER)))
    throw invalid(`endUser must have 1 to ${MAX_END_USER} characters`, 'endUser');
  if (tags.length > MAX_TAGS) throw invalid(`tags must be at most ${MAX_TAGS}`, 'tags');
  if (!tags.every(isTag))
    throw invalid('tags must have 1 to 64 of the characters A-Z a-z 0-9 _ . : / -', 'tags');
}

const isCount = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= 1_000_000;
