import { readlinkSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';

/** So far behind the server come its helpers: where both want a core, they have about a quarter of it. */
const NICENESS = 5;

/** Lets a child process work only with what the server leaves of the processors: callers wait for the server. */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  // Linux with autogroups compares a session of its own with others by this value alone.
  quietly(() => writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS)));
  quietly(() => setPriority(pid, NICENESS));
}

/** The same for the calling thread. Only Linux has priorities of threads. */
export function lowerThreadPriority(): void {
  quietly(() => setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICENESS));
}

/** A process that has ended, or a platform without priorities, is no fault: then it works as any other. */
function quietly(step: () => void): void {
  try {
    step();
  } catch {
    return;
  }
}
