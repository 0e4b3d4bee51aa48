import type { Sql } from '../database/database.types.js';
import { ApiError } from '../contract/errors.js';
import { inFlight } from './idempotency.key.js';
import type { KeyedCall } from './idempotency.types.js';
import { BIND } from './idempotency.queries.js';

/** SQLSTATE of `penstock_idempotency_bind`. */
const LOST = 'PSKEY';

/** Converts an error of a creation: 409 if another request has taken the call's Idempotency-Key over. */
export function toKeyLostError(error: unknown): unknown {
  for (let fault = error; fault instanceof Error && !(fault instanceof ApiError); fault = fault.cause)
    if ((fault as NodeJS.ErrnoException).code === LOST) return inFlight();
  return error;
}

/**
 * Binds a created object's id to the call's Idempotency-Key, in the transaction that creates it. From the commit on, a retry with the key finds
 * the object, even after a crash.
 * @throws ApiError conflict: another request has taken the key over; the transaction must roll back
 */
export async function bindToKey(
  sql: Sql,
  { idempotencyKey }: Pick<KeyedCall, 'idempotencyKey'>,
  id: string,
): Promise<void> {
  if (idempotencyKey === null) return;
  await sql.query(BIND, [idempotencyKey, id]).catch((error: unknown) => {
    throw toKeyLostError(error);
  });
}

/** Takes the first id with the prefix that an earlier request with the call's key has bound; null if there is none. */
export function takeBoundId({ boundIds }: Pick<KeyedCall, 'boundIds'>, prefix: string): string | null {
  const at = boundIds?.findIndex((id) => id.startsWith(`${prefix}_`)) ?? -1;
  return boundIds?.splice(at, at < 0 ? 0 : 1)[0] ?? null;
}
