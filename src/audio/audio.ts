import { availableParallelism } from 'node:os';
import { ProcessDiedError, processEntry, ProcessPool, TaskError } from '../processes/index.js';
import { UnreadableAudioError } from './audio.types.js';
import type { Audio, AudioOptions, AudioTask, MadeAudio, ProbeReply } from './audio.types.js';

const HEAP_MB = 512;
const CONVERTING_TIMEOUT_MS = 600_000;
/** Callers wait for it: 30 s in all (decisions 1). */
const READING_TIMEOUT_MS = 25_000;

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Starts no process yet: they start with the first task and stop 20 s after the last. */
export function createAudio(): Audio {
  // The container library writes notes to stderr with text from untrusted files. Errors come as replies.
  const base = { entry: processEntry('audio.child.js'), heapMb: HEAP_MB, stderr: 'ignore' as const };
  const size = Math.max(1, Math.min(4, availableParallelism() - 1));
  const converters = new ProcessPool({ ...base, size, taskTimeoutMs: CONVERTING_TIMEOUT_MS });
  // Callers wait for these before their job exists: they do not queue behind conversions.
  const readers = new ProcessPool({ ...base, size, taskTimeoutMs: READING_TIMEOUT_MS });

  const run = async (pool: ProcessPool, task: AudioTask, options: AudioOptions = {}): Promise<unknown> => {
    try {
      return await pool.run(task, options);
    } catch (error) {
      if (error instanceof TaskError && error.fault.name === 'UnreadableAudioError')
        throw new UnreadableAudioError(error.message);
      // A file that kills the process which probes it cannot be used.
      if (error instanceof ProcessDiedError && task.kind === 'probe')
        throw new UnreadableAudioError(error.message);
      throw error;
    }
  };
  return {
    async probe(given, options) {
      const reply = (await run(readers, { kind: 'probe', bytes: given }, options)) as ProbeReply;
      const { repaired, ...facts } = reply;
      return { ...facts, bytes: asBuffer(repaired ?? given) };
    },
    async convert(given, format, options) {
      const made = (await run(converters, { kind: 'convert', bytes: given, format }, options)) as MadeAudio;
      return { ...made, bytes: asBuffer(made.bytes) };
    },
    close() {
      converters.close();
      readers.close();
    },
  };
}
