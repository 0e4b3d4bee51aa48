import type { Model } from '../../models/models.types.js';
import type { Amounts } from '../../contract/words.js';

/**
 * The price of a whole number of a model's units (edits, tracks, characters, seconds): their own bucket times the tier's multiplier, exact
 * to two decimals (decisions 2); credits only where the model's entry sets some, rounded up once to whole ones. Integers throughout.
 */
export function priceOfUnits(units: number, { pricing, multiplier }: Model): Amounts {
  const amount = Math.ceil((Math.round(pricing.amount * 100) * units * multiplier) / 100);
  const credits = Math.ceil((Math.round(pricing.credits * 100) * units * multiplier) / 10_000) * 100;
  return { [pricing.bucket]: amount, ...(credits === 0 ? {} : { credits }) };
}

/** The convention's fields of an image's usage: images are charged by the piece, and clients read these. */
export const NO_TOKENS = { input_tokens: 0, output_tokens: 0, total_tokens: 0 } as const;
