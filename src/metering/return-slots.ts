import type { Database } from '../database/index.js';
import type { TakenSlots } from './metering.types.js';
import { RETURN_SLOTS } from './metering.queries.js';

/** Returns slots. Locks the windows in the same order as every batch. */
export async function returnSlots(
  database: Pick<Database, 'system'>,
  { principal, keyWindow, endpoint, takenAt }: TakenSlots,
): Promise<void> {
  const names = [...(endpoint === undefined ? [] : [endpoint]), ...(keyWindow ? ['key'] : [])].toSorted();
  if (names.length > 0) await database.system.query(RETURN_SLOTS, [principal.keyId, names, takenAt]);
  if (keyWindow && principal.token?.rate != null)
    await database.system.query(RETURN_SLOTS, [principal.token.id, ['key'], takenAt]);
}
