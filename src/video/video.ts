import { ProcessDiedError, processEntry, ProcessPool, TaskError } from '../processes/index.js';
import { UnreadableVideoError } from './video.types.js';
import type { Video, VideoFacts, VideoTask } from './video.types.js';

const HEAP_MB = 512;
/** Callers wait for it: 30 s in all (decisions 1). */
const PROBE_TIMEOUT_MS = 25_000;

/**
 * Starts no process yet: it starts with the first task and stops 20 s after the last.
 * @param options.portable works without the optional codec package, as if it were not installed: then no source is readable
 */
export function createVideo({ portable = false }: { portable?: boolean } = {}): Video {
  const readers = new ProcessPool({
    entry: processEntry('video.child.js'),
    heapMb: HEAP_MB,
    // The codec library writes notes there. Errors come as replies.
    stderr: 'ignore',
    size: 1,
    taskTimeoutMs: PROBE_TIMEOUT_MS,
  });
  return {
    async probe(bytes, options) {
      const task: VideoTask = { portable, bytes };
      try {
        return (await readers.run(task, options ?? {})) as VideoFacts;
      } catch (error) {
        const unreadable = error instanceof TaskError && error.fault.name === 'UnreadableVideoError';
        // A file that kills the process which probes it cannot be used.
        if (unreadable || error instanceof ProcessDiedError) throw new UnreadableVideoError(error.message);
        throw error;
      }
    },
    close: () => readers.close(),
  };
}
