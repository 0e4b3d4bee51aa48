import { createRequire } from 'node:module';

interface RequestQueue {
  pending: unknown[];
  scheduleCheckPendingRequests(): void;
}

const PATCHED = Symbol.for('penstock.kafkajs.idle-timer');

/**
 * kafkajs 2.2.4 re-arms a timer of 1 ms (or less) for ever on each idle connection (its issue 1604): 25 to 28 ms of CPU a second. With
 * nothing pending there is nothing to check, so the schedule is skipped. A request that is queued later schedules again by itself.
 */
export function patchIdleTimer(): void {
  const load = createRequire(import.meta.url);
  const queue = load('kafkajs/src/network/requestQueue') as {
    prototype: RequestQueue & { [PATCHED]?: true };
  };
  const { prototype } = queue;
  if (prototype[PATCHED]) return;
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function scheduleUnlessIdle(this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
  prototype[PATCHED] = true;
}
