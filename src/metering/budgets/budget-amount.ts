import type { BudgetAmount, BudgetUnit } from '../../contract/budgets.js';
import { decimalText, scaledDecimal } from '../../pricing/index.js';

/** Decimals of what is stored: nano-dollars, or hundredths of a bucket's unit. */
const placesOf = (unit: BudgetUnit): number => (unit === 'usd' ? 9 : 2);

/** A stored amount as callers see it. */
export const budgetAmount = (unit: BudgetUnit, stored: bigint): BudgetAmount =>
  unit === 'usd' ? decimalText(stored, placesOf(unit)) : Number(stored) / 100;

/** An amount as it is stored, or null where it is negative, is not exact in its unit, or is none. */
export const storedAmount = (unit: BudgetUnit, amount: BudgetAmount): bigint | null =>
  scaledDecimal(amount, placesOf(unit));
