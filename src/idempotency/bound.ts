import type { Sql } from '../database/database.types.js';
import type { KeyedCall } from './idempotency.types.js';

const BIND = { name: 'idempotency_bind', text: 'SELECT penstock_idempotency_bind($1, $2)' };

/** In the transaction that makes something: from its commit on, a retry with the call's Idempotency-Key finds it, whoever dies. */
export async function bindToKey(
  sql: Sql,
  { idempotencyKey }: Pick<KeyedCall, 'idempotencyKey'>,
  id: string,
): Promise<void> {
  if (idempotencyKey !== null) await sql.query(BIND, [idempotencyKey, id]);
}

/** Takes the first thing of its kind that an earlier request with the call's key made; null: it made none, or died before. */
export function takeBound({ boundIds }: Pick<KeyedCall, 'boundIds'>, prefix: string): string | null {
  const at = boundIds?.findIndex((id) => id.startsWith(`${prefix}_`)) ?? -1;
  return boundIds?.splice(at, at < 0 ? 0 : 1)[0] ?? null;
}
