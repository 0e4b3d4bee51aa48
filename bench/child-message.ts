import type { ChildProcess } from 'node:child_process';

/** The peer may need this time for a burst on a busy machine. */
const PATIENCE_MS = 240_000;

/** Waits for the next message of a child process with the given property. */
export function messageWith<T>(child: ChildProcess, property: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(late);
      child.off('message', listen).off('exit', ended);
    };
    const late = setTimeout(() => {
      end();
      reject(new Error(`no ${property} came`));
    }, PATIENCE_MS);
    const listen = (message: Record<string, unknown>): void => {
      if (!(property in message)) return;
      end();
      resolve(message as T);
    };
    const ended = (code: number | null): void => {
      end();
      reject(new Error(`${child.spawnargs.join(' ')} ended with ${code}`));
    };
    child.on('message', listen).on('exit', ended);
  });
}
