import type { CallContext } from '../../metering/call-context.js';
import type { Turn } from './turn.js';

export interface SettledBefore {
  settledBefore(operationId: string): Promise<unknown>;
}

/**
 * Keeps the texts of an answer for a retry with the call's Idempotency-Key, before its charge.
 * @param keptAs what the answer was made of
 * @throws ApiError conflict: it must not be charged
 */
export async function keepTexts(
  { call, chat }: Pick<Turn, 'call' | 'chat'>,
  keptAs: unknown,
  texts: readonly string[],
): Promise<void> {
  await call.madeAnswers?.keep(keptAs, { operationId: chat.operationId, value: texts });
}

/** The texts that an earlier request with the call's key was charged for and did not live to give; null: there are none. */
export async function textsBefore(
  metering: SettledBefore,
  { madeAnswers }: CallContext,
  keptAs: unknown,
): Promise<string[] | null> {
  const earlier = (await madeAnswers?.take(keptAs)) ?? null;
  if (earlier === null || (await metering.settledBefore(earlier.operationId)) === null) return null;
  return earlier.value as string[];
}
