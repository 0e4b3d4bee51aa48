import { AsyncLocalStorage } from 'node:async_hooks';
import type { Acting } from './audit.types.js';

/** Follows the work through all calls, so that no service has to be told who asked. */
const context = new AsyncLocalStorage<Acting>();

const SYSTEM: Acting = { actor: { kind: 'system', id: null, name: null }, address: null };

/** The operator at the command line. */
export const OPERATOR: Acting = { actor: { kind: 'operator', id: null, name: null }, address: 'cli' };

/** Does work in somebody's name: the changes that it records are theirs. */
export function actAs<T>(acting: Acting, work: () => T): T {
  return context.run(acting, work);
}

/** The actor of the current work; Penstock itself if no caller asked for it. */
export const currentlyActing = (): Acting => context.getStore() ?? SYSTEM;
