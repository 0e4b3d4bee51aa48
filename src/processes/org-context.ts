import { workOwner } from '../collections/work-owner.js';
import type { Permit } from './fair-semaphore.js';

/** Runs work for an organisation: pools that the work uses count it as work of that organisation. */
export function runForOrg<T>(orgId: string, work: () => T, permit: Permit | null = null): T {
  return workOwner.run({ orgId, permit }, work);
}

/** The organisation that the current work is done for; empty if it is the installation's own work. */
export function currentOrgId(): string {
  return workOwner.getStore()?.orgId ?? '';
}

/** Waits for time to pass. The permit of the work is released meanwhile. */
export async function withoutPermit<T>(wait: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const permit = workOwner.getStore()?.permit;
  return await (permit ? permit.rest(wait, signal) : wait());
}
