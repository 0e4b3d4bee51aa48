import { execFile, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Layout } from './layout.js';

/**
 * Owns the promise that nothing is left running: a tiny shell process (the keeper) reads the users' FIFO, gets its end when the last
 * user has closed it or died, and stops PostgreSQL. It has nothing to poll and outlives a SIGKILL of every Node process.
 *
 * It closes the FIFO before it stops the server, so that a newcomer finds no reader and starts a keeper of its own.
 */
const KEEPER = `
while read -r _; do :; done
exec </dev/null
pid=$(head -n 1 postmaster.pid 2>/dev/null)
[ -n "$pid" ] || exit 0
case "$(cat "/proc/$pid/comm" 2>/dev/null || ps -o comm= -p "$pid")" in
  *postgres*) kill -INT "$pid" 2>/dev/null ;;
  *) exit 0 ;;
esac
while [ "$(head -n 1 postmaster.pid 2>/dev/null)" = "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
rmdir "$1" 2>/dev/null
`;

const hasCode = (error: unknown, ...codes: string[]): boolean =>
  codes.includes((error as NodeJS.ErrnoException).code ?? '');

/** Opens the FIFO for writing. Null: nobody reads it (no keeper). */
function openAsUser(layout: Layout): number | null {
  try {
    return openSync(layout.users, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, 'ENXIO', 'ENOENT')) return null;
    throw error;
  }
}

async function makeFifo(layout: Layout): Promise<void> {
  await promisify(execFile)('mkfifo', ['-m', '600', layout.users]).catch((error: Error) => {
    if (!error.message.includes('exists')) throw error;
  });
}

/** Starts a keeper that holds the reading end from its first moment, so that it sees our death even during its start. */
function startKeeper(layout: Layout): number {
  const both = openSync(layout.users, constants.O_RDWR);
  const reading = openSync(layout.users, constants.O_RDONLY);
  const writing = openSync(layout.users, constants.O_WRONLY);
  spawn('/bin/sh', ['-c', KEEPER, 'penstock-postgres-keeper', layout.run], {
    ...layout.account,
    cwd: layout.cluster,
    detached: true,
    stdio: [reading, 'ignore', 'ignore'],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  }).unref();
  closeSync(reading);
  closeSync(both);
  return writing;
}

/** Registers this process as a user of the server. The descriptor is closed with {@link leave}. */
export async function join(layout: Layout): Promise<number> {
  const open = openAsUser(layout);
  if (open !== null) return open;
  await makeFifo(layout);
  return openAsUser(layout) ?? startKeeper(layout);
}

/** Whether a process is a keeper that has let go of its users and stops the server. */
async function isStopping(layout: Layout, pid: string): Promise<boolean> {
  try {
    const [folder, cluster, name, input] = await Promise.all([
      stat(`/proc/${pid}/cwd`),
      stat(layout.cluster),
      readFile(`/proc/${pid}/comm`, 'utf8'),
      readlink(`/proc/${pid}/fd/0`),
    ]);
    const isHere = folder.ino === cluster.ino && folder.dev === cluster.dev;
    return isHere && name.trim() === 'sh' && input === '/dev/null';
  } catch {
    return false; // It has ended, or is somebody else's.
  }
}

/** Waits until no keeper is stopping the server: a newcomer must not take for its own what is about to go. At once where /proc is none. */
export async function awaitStopping(layout: Layout, timeoutMs: number): Promise<void> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(20)) {
    const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
    const stopping = await Promise.all(pids.map((pid) => isStopping(layout, pid)));
    if (!stopping.includes(true)) return;
  }
}

export function hasKeeper(layout: Layout): boolean {
  const probe = openAsUser(layout);
  if (probe !== null) closeSync(probe);
  return probe !== null;
}

/** Closes the descriptor. True: it was the last user's, and the keeper is stopping the server. */
export function leave(layout: Layout, descriptor: number): boolean {
  closeSync(descriptor);
  let probe: number | null = null;
  try {
    probe = openSync(layout.users, constants.O_RDONLY | constants.O_NONBLOCK);
    return readSync(probe, Buffer.alloc(1)) === 0;
  } catch (error) {
    if (hasCode(error, 'EAGAIN')) return false;
    if (hasCode(error, 'ENOENT')) return true;
    throw error;
  } finally {
    if (probe !== null) closeSync(probe);
  }
}
