import type { Amounts } from '../data/charges.js';
import type { JobRow } from '../data/jobs.js';
import { asAmount } from './format.js';

/** `1 image and 2 credits`, or null if there are no amounts. */
export const asAmounts = (amounts: Amounts): string | null =>
  amounts.length === 0 ? null : amounts.map(({ bucket, amount }) => asAmount(amount, bucket)).join(' and ');

type Job = Pick<JobRow, 'status' | 'actualCredits' | 'estimatedCredits'>;

/** What a job was charged, in every bucket. Until the charge is known, its estimate. @param amounts undefined if unknown */
export function chargeOf(
  { status, actualCredits, estimatedCredits }: Job,
  amounts: Amounts | undefined,
): string {
  if (amounts !== undefined) return asAmounts(amounts) ?? 'nothing';
  if (status === 'failed' || status === 'cancelled') return 'nothing';
  if (actualCredits !== null) return asAmount(actualCredits, 'credits');
  return estimatedCredits === 0 ? '–' : `≈ ${asAmount(estimatedCredits, 'credits')}`;
}
