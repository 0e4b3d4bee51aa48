import type { Sql } from '../database/database.types.js';
import { ApiError } from '../contract/errors.js';
import { inFlight } from './idempotency.key.js';
import type { KeyedCall } from './idempotency.types.js';
import { BIND } from './idempotency.queries.js';

/** SQLSTATE of `penstock_idempotency_bind`. */
const LOST = 'PSKEY';

/** What the caller is told where the making of something failed: 409 where another request has the call's Idempotency-Key by now. */
export function orKeyLost(error: unknown): unknown {
  for (let fault = error; fault instanceof Error && !(fault instanceof ApiError); fault = fault.cause)
    if ((fault as NodeJS.ErrnoException).code === LOST) return inFlight();
  return error;
}

/**
 * In the transaction that makes something: from its commit on, a retry with the call's Idempotency-Key finds it, whoever dies.
 * @throws ApiError conflict: another request has the key by now, and nothing is made here
 */
export async function bindToKey(
  sql: Sql,
  { idempotencyKey }: Pick<KeyedCall, 'idempotencyKey'>,
  id: string,
): Promise<void> {
  if (idempotencyKey === null) return;
  await sql.query(BIND, [idempotencyKey, id]).catch((error: unknown) => {
    throw orKeyLost(error);
  });
}

/** Takes the first thing of its kind that an earlier request with the call's key made; null: it made none, or died before. */
export function takeBound({ boundIds }: Pick<KeyedCall, 'boundIds'>, prefix: string): string | null {
  const at = boundIds?.findIndex((id) => id.startsWith(`${prefix}_`)) ?? -1;
  return boundIds?.splice(at, at < 0 ? 0 : 1)[0] ?? null;
}
