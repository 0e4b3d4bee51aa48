import type { SpawnedServer } from './spawned.js';

/** How long a process blocked its event loop since the last question, in milliseconds of its main thread's processor time. */
export interface LoopHold {
  /** The longest turn. */
  worstMs: number;
  /** The longest turn without garbage collections. */
  worstWorkMs: number;
  p99Ms: number;
  /** The longest turn by the clock, including the time of other programs. */
  worstWallMs: number;
}

/** Asks a process that was spawned with `probe: true`, and resets its figures. */
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
