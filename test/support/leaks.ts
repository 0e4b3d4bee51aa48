import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than a server of the test's own keeps an idle connection (Node: 5 s and a margin of 1 s), which outlives the product's stop. */
const GRACE_MS = 9000;
/** Kinds of handle that the product must close; names of `process.getActiveResourcesInfo()`. */
const WATCHED = [
  'TCPServerWrap',
  'TCPSocketWrap',
  'PipeWrap',
  'ProcessWrap',
  'MessagePort',
  'Timeout',
  'Immediate',
];

function held(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (WATCHED.includes(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

function leaked(before: Map<string, number>): string[] {
  return [...held()]
    .filter(([kind, count]) => count > (before.get(kind) ?? 0))
    .map(([kind, count]) => `${count - (before.get(kind) ?? 0)} × ${kind}`);
}

/**
 * Records the handles that keep this process alive now.
 * @returns a check for the end: handles that were opened since must be closed within 9 s. @throws Error with the names of open handles
 */
export function watchLeaks(): () => Promise<void> {
  // The process's own streams are opened at their first use, perhaps by a package that is loaded later.
  void [process.stdin, process.stdout, process.stderr];
  const before = held();
  return async () => {
    const deadline = performance.now() + GRACE_MS;
    while (leaked(before).length > 0 && performance.now() < deadline) await sleep(25);
    const left = leaked(before);
    if (left.length > 0) throw new Error(`left open after close(): ${left.join(', ')}`);
  };
}
