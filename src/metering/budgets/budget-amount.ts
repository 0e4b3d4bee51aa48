import type { BudgetAmount, BudgetUnit } from '../../contract/budgets.js';
import { decimalText, scaledDecimal } from '../../pricing/index.js';

/** Decimals of stored amounts: nano-dollars, or hundredths of a bucket's unit. */
const placesOf = (unit: BudgetUnit): number => (unit === 'usd' ? 9 : 2);

/** A stored amount as callers see it. */
export const budgetAmount = (unit: BudgetUnit, stored: bigint): BudgetAmount =>
  unit === 'usd' ? decimalText(stored, placesOf(unit)) : Number(stored) / 100;

/** The amount to store, or null if it is negative, not exact in its unit, or not a number. */
export const storedAmount = (unit: BudgetUnit, amount: BudgetAmount): bigint | null =>
  scaledDecimal(amount, placesOf(unit));
