import type { ChildProcess } from 'node:child_process';
import { readSync } from 'node:fs';
import type { Socket } from 'node:net';

/** The file descriptor of the pipe in the child process. */
const PIPE_FD = 4;
/** Shorter bytes are sent in the message. */
const LONG_BYTES = 64 * 1024;

/** Opens the pipe of long bytes in a new process. A process that ends while it is sent bytes is no fault of the pipe. */
export function openPipe(child: ChildProcess): Socket | null {
  const pipe = (child.stdio[PIPE_FD] ?? null) as Socket | null;
  return pipe?.on('error', () => undefined) ?? null;
}

/** A task's long `bytes`, which are not sent in the message: serialising them copies the whole file in one step of the event loop. */
export function separated(task: object): { task: object; bytes?: Uint8Array } {
  if (!('bytes' in task) || !(task.bytes instanceof Uint8Array)) return { task };
  if (task.bytes.length < LONG_BYTES) return { task };
  return { task: { ...task, bytes: null }, bytes: task.bytes };
}

/** For a child process: the next bytes of the pipe. It has no other work while it waits for them. */
export function receiveBytes(size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  for (let at = 0; at < size;) {
    const read = readSync(PIPE_FD, bytes, at, size - at, null);
    // The parent process has ended.
    if (read === 0) process.exit(0);
    at += read;
  }
  return bytes;
}
