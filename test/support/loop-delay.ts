import type { SpawnedServer } from './spawned.js';

/** How long a process held its event loop, in milliseconds of its main thread's processor time, since it was asked last. */
export interface LoopHold {
  /** The longest turn. */
  worstMs: number;
  /** The longest without collections of garbage. */
  worstWorkMs: number;
  p99Ms: number;
  /** The longest turn by the clock, other programs' time included. */
  worstWallMs: number;
}

/** Asks a process that was spawned with `probe: true`; the next answer begins anew. */
export function loopHold({ process: child }: Pick<SpawnedServer, 'process'>): Promise<LoopHold> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('the process ended'));
    const answered = (message: unknown) => {
      const { loop } = (message ?? {}) as { loop?: LoopHold };
      if (loop === undefined) return;
      child.off('message', answered).off('exit', ended);
      resolve(loop);
    };
    child.on('message', answered).once('exit', ended);
    child.send('loop');
  });
}
