import type { CallContext } from '../../metering/call-context.js';
import type { Turn } from './turn.js';

export interface SettledBefore {
  settledBefore(operationId: string): Promise<unknown>;
}

/**
 * Stores the texts of an answer for a retry with the call's Idempotency-Key, before its charge.
 * @param keptAs the kind of the stored answer
 * @throws ApiError conflict: it must not be charged
 */
export async function keepTexts(
  { call, chat }: Pick<Turn, 'call' | 'chat'>,
  keptAs: unknown,
  texts: readonly string[],
): Promise<void> {
  await call.unchargedAnswers?.keep(keptAs, { operationId: chat.operationId, value: texts });
}

/** The texts for which an earlier request with the call's key was charged before its process died; null if there are none. */
export async function textsBefore(
  metering: SettledBefore,
  { unchargedAnswers }: CallContext,
  keptAs: unknown,
): Promise<string[] | null> {
  const earlier = (await unchargedAnswers?.take(keptAs)) ?? null;
  if (earlier === null || (await metering.settledBefore(earlier.operationId)) === null) return null;
  return earlier.value as string[];
}
