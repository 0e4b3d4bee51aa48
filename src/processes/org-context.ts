import { AsyncLocalStorage } from 'node:async_hooks';
import type { Permit } from './fair-semaphore.js';

/** The organisation that work is done for. It follows the work through all calls, so that no caller has to pass it to a pool. */
interface OrgContext {
  orgId: string;
  /** The permit that the work holds. */
  permit: Permit | null;
}

const context = new AsyncLocalStorage<OrgContext>();

/** Runs work for an organisation: pools that the work uses count it as work of that organisation. */
export function runForOrg<T>(orgId: string, work: () => T, permit: Permit | null = null): T {
  return context.run({ orgId, permit }, work);
}

/** The organisation that the current work is done for; empty if it is the installation's own work. */
export function currentOrgId(): string {
  return context.getStore()?.orgId ?? '';
}

/** Waits for time to pass. The permit of the work is released meanwhile. */
export async function withoutPermit<T>(wait: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const permit = context.getStore()?.permit;
  return await (permit ? permit.rest(wait, signal) : wait());
}
