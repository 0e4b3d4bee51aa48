import { availableParallelism } from 'node:os';
import { processEntry, ProcessPool, TaskError } from '../../processes/index.js';
import type { TaskOptions } from '../../processes/index.js';
import { UnreadableVideoError } from '../../video/index.js';
import type { FilmTask } from './film.types.js';

/** Films, in child processes off the event loop. Aborting a task kills the process that does it. */
export interface Studio {
  /** MP4 with H.264, of exactly that size, rate and number of frames. @throws UnreadableVideoError for the source */
  film(task: FilmTask, options?: TaskOptions): Promise<Buffer>;
  close(): void;
}

export type StudioTask = FilmTask & { portable: boolean };

const HEAP_MB = 512;
/** A minute of 4k at 60 frames a second takes long without the optional codec. */
const FILM_TIMEOUT_MS = 3_600_000;

/**
 * Starts no process yet: they start with the first task and stop 20 s after the last.
 * @param options.portable works without the optional codec package, as if it were not installed: slower, and no source can be read
 */
export function createStudio({ portable }: { portable: boolean }): Studio {
  const pool = new ProcessPool({
    entry: processEntry('sandbox-film.child.js'),
    heapMb: HEAP_MB,
    // The codec library writes notes there. Errors come as replies.
    stderr: 'ignore',
    size: Math.max(1, Math.min(2, availableParallelism() - 1)),
    taskTimeoutMs: FILM_TIMEOUT_MS,
  });
  return {
    async film(task, options = {}) {
      const requested: StudioTask = { portable, ...task };
      try {
        const { buffer, byteOffset, byteLength } = (await pool.run(requested, options)) as Uint8Array;
        return Buffer.from(buffer, byteOffset, byteLength);
      } catch (error) {
        if (error instanceof TaskError && error.fault.name === 'UnreadableVideoError')
          throw new UnreadableVideoError(error.message);
        throw error;
      }
    },
    close: () => pool.close(),
  };
}
