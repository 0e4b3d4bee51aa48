import { readFileSync } from 'node:fs';

/** The kernel counts in hundredths of a second for every program, whatever its own clock is. */
const TICK_MS = 10;
/** Fields after the program's name, which may contain spaces. */
const USER = 11;
const SYSTEM = 12;

/** The processor time that a process has used, in ms. Null where the system does not report it, or if the process has ended. */
export function cpuMsOf(pid: number | undefined): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[USER]) + Number(fields[SYSTEM])) * TICK_MS;
  } catch {
    return null;
  }
}

/**
 * Measures from now on whether a process that exceeds its time is slow by its own work, or because the machine gives it no processor: then its task
 * is not at fault.
 * @returns whether it used less than half of the time since then; false where the system does not report it
 */
export function watchCpu(pid: number | undefined): () => boolean {
  const from = performance.now();
  const before = cpuMsOf(pid);
  return () => {
    const now = cpuMsOf(pid);
    return before !== null && now !== null && now - before < (performance.now() - from) / 2;
  };
}
