import { availableParallelism } from 'node:os';
import { ProcessDiedError, processEntry, ProcessPool, TaskError } from '../processes/index.js';
import { UnreadableVideoError } from './video.types.js';
import type { Video, VideoFacts, VideoOptions, VideoTask } from './video.types.js';

const HEAP_MB = 512;
/** A minute of 4k at 60 frames a second takes long without the optional codec. */
const FILM_TIMEOUT_MS = 3_600_000;
/** Callers wait for it: 30 s in all (decisions 1). */
const PROBE_TIMEOUT_MS = 25_000;
/** Callers who wait for an answer come before a film that takes minutes. */
const NICENESS = 10;

/**
 * Starts no process yet: they come with the first task and go 20 s after the last.
 * @param options.portable works without the optional codec package, as where it is not installed: slower, and no source can be read
 */
export function createVideo({ portable = false }: { portable?: boolean } = {}): Video {
  // The codec's library writes notes of its own to stderr; faults come as replies.
  const base = { entry: processEntry('video.child.js'), heapMb: HEAP_MB, stderr: 'ignore' as const };
  const size = Math.max(1, Math.min(2, availableParallelism() - 1));
  const makers = new ProcessPool({ ...base, niceness: NICENESS, size, taskTimeoutMs: FILM_TIMEOUT_MS });
  // Callers wait for these before their job exists: they do not queue behind the making.
  const readers = new ProcessPool({ ...base, size: 1, taskTimeoutMs: PROBE_TIMEOUT_MS });

  const run = async (pool: ProcessPool, task: VideoTask, options: VideoOptions = {}): Promise<unknown> => {
    try {
      return await pool.run(task, options);
    } catch (error) {
      if (error instanceof TaskError && error.fault.name === 'UnreadableVideoError')
        throw new UnreadableVideoError(error.message);
      // A file that ends the process which only looks at it is no video that can be worked on.
      if (error instanceof ProcessDiedError && task.kind === 'probe')
        throw new UnreadableVideoError(error.message);
      throw error;
    }
  };
  return {
    async film(task, options) {
      const made = (await run(makers, { kind: 'film', portable, ...task }, options)) as Uint8Array;
      return Buffer.from(made.buffer, made.byteOffset, made.byteLength);
    },
    probe: async (bytes, options) =>
      (await run(readers, { kind: 'probe', portable, bytes }, options)) as VideoFacts,
    close() {
      makers.close();
      readers.close();
    },
  };
}
