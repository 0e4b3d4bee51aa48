import type { CostBound } from '../../metering/metering.types.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { dearestCost, versionAt } from '../../pricing/index.js';
import type { PriceVersion, PricedUnit, Used } from '../../pricing/pricing.types.js';

/** What a call may use of its model at most: tokens, or pieces. */
export type MostUsed = { promptTokens: number; maxTokens: number } | { units: NonNullable<Used['units']> };

/** The pieces that a version has a rate for: others say the same in another unit, or only the answer tells them. */
function rated({ rates }: PriceVersion, units: NonNullable<Used['units']>): NonNullable<Used['units']> {
  return Object.fromEntries(
    Object.entries(units).filter(([name]) => rates[name as PricedUnit] !== undefined),
  );
}

/** Null: the model has no price. */
function boundAt({ cost }: Model, used: MostUsed, timeMs: number): CostBound | null {
  const version = versionAt(cost, timeMs);
  if (version === null) return null;
  if ('units' in used) {
    const whole = dearestCost(version, { promptTokens: 0, maxTokens: 0, units: rated(version, used.units) });
    return whole === null ? null : { whole, prompt: whole };
  }
  const whole = dearestCost(version, used);
  const prompt = dearestCost(version, { ...used, maxTokens: 0 });
  return whole === null || prompt === null ? null : { whole, prompt };
}

const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other);

/**
 * The most that a call may cost: at the dearest of its model and the fallbacks that have a price; the others are passed over. Null: the model
 * itself has none.
 */
export function costBound(models: ModelCatalogue, model: Model, used: MostUsed): CostBound | null {
  const now = Date.now();
  const own = boundAt(model, used, now);
  if (own === null) return null;
  return models.fallbacks(model.id).reduce((most, fallback) => {
    const bound = boundAt(fallback, used, now);
    if (bound === null) return most;
    return { whole: larger(most.whole, bound.whole), prompt: larger(most.prompt, bound.prompt) };
  }, own);
}
