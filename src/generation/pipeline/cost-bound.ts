import type { CostBound } from '../../metering/metering.types.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { isCallable } from './checks.js';
import type { ModelCaller } from './checks.js';
import { maximumCost, versionAt } from '../../pricing/index.js';
import type { PriceVersion, PricedUnit, Used } from '../../pricing/pricing.types.js';

/** The maximum that a call may use of its model: tokens, or pieces. */
export type MostUsed = { promptTokens: number; maxTokens: number } | { units: NonNullable<Used['units']> };

/** The pieces that a price version has a rate for. Other pieces repeat these in another unit, or are only known from the answer. */
function rated({ rates }: PriceVersion, units: NonNullable<Used['units']>): NonNullable<Used['units']> {
  return Object.fromEntries(
    Object.entries(units).filter(([name]) => rates[name as PricedUnit] !== undefined),
  );
}

/** Null if the model has no price. */
function boundAt({ cost }: Model, used: MostUsed, timeMs: number): CostBound | null {
  const version = versionAt(cost, timeMs);
  if (version === null) return null;
  if ('units' in used) {
    const whole = maximumCost(version, { promptTokens: 0, maxTokens: 0, units: rated(version, used.units) });
    return whole === null ? null : { whole, prompt: whole };
  }
  const whole = maximumCost(version, used);
  const prompt = maximumCost(version, { ...used, maxTokens: 0 });
  return whole === null || prompt === null ? null : { whole, prompt };
}

const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other);

/**
 * The maximum cost of a call: at the most expensive of its model and its priced fallbacks that the caller may use. Null if the model itself
 * has no price.
 */
export function costBound(
  { models, caller }: { models: ModelCatalogue; caller: ModelCaller },
  model: Model,
  used: MostUsed,
): CostBound | null {
  const now = Date.now();
  const own = boundAt(model, used, now);
  if (own === null) return null;
  return models.fallbacks(model.id).reduce((most, fallback) => {
    const bound = isCallable(caller, fallback) ? boundAt(fallback, used, now) : null;
    if (bound === null) return most;
    return { whole: larger(most.whole, bound.whole), prompt: larger(most.prompt, bound.prompt) };
  }, own);
}
