import { AsyncLocalStorage } from 'node:async_hooks';
import type { ActorContext } from './audit.types.js';

/** Follows the work through all calls, so that no service has to be told who asked. */
const context = new AsyncLocalStorage<ActorContext>();

const SYSTEM: ActorContext = { actor: { kind: 'system', id: null, name: null }, address: null };

/** The operator at the command line. */
export const OPERATOR: ActorContext = { actor: { kind: 'operator', id: null, name: null }, address: 'cli' };

/** Does work in somebody's name: the changes that it records are theirs. */
export function actAs<T>(acting: ActorContext, work: () => T): T {
  return context.run(acting, work);
}

/** The actor of the current work; Penstock itself if no caller asked for it. */
export const currentActor = (): ActorContext => context.getStore() ?? SYSTEM;
