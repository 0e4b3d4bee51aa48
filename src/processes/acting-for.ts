import { AsyncLocalStorage } from 'node:async_hooks';
import type { Place } from './fair-places.js';

/** Whom work is done for: it follows the work through every call, so that no pool has to be told by each of them. */
interface Acting {
  orgId: string;
  /** The place that the work holds. */
  place: Place | null;
}

const acting = new AsyncLocalStorage<Acting>();

/** Does work for an organisation: the pools that it comes to count it as that organisation's. */
export function actFor<T>(orgId: string, work: () => T, place: Place | null = null): T {
  return acting.run({ orgId, place }, work);
}

/** The organisation whose work this is; empty where it is the installation's own. */
export function actingFor(): string {
  return acting.getStore()?.orgId ?? '';
}

/** Waits for time alone, and gives the place of the work to others meanwhile. */
export async function atRest<T>(wait: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const place = acting.getStore()?.place;
  return await (place ? place.rest(wait, signal) : wait());
}
