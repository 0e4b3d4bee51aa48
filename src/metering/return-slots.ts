import type { Database } from '../database/index.js';
import type { TakenSlots } from './metering.types.js';

const RETURN = {
  name: 'penstock_window_return',
  text: 'SELECT penstock_window_return($1, name, $3) FROM unnest($2::text[]) name',
};

/** Gives slots back; the windows are locked in the order in which every batch locks them. */
export async function returnSlots(
  database: Pick<Database, 'system'>,
  { principal, keyWindow, endpoint, takenAt }: TakenSlots,
): Promise<void> {
  const names = [...(endpoint === undefined ? [] : [endpoint]), ...(keyWindow ? ['key'] : [])].toSorted();
  if (names.length > 0) await database.system.query(RETURN, [principal.keyId, names, takenAt]);
}
