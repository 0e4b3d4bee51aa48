import { availableParallelism } from 'node:os';
import { ProcessDiedError, processEntry, ProcessPool, TaskError } from '../processes/index.js';
import { UnreadableAudioError } from './audio.types.js';
import type {
  Audio,
  AudioFacts,
  AudioOptions,
  AudioTask,
  MadeAudio,
  MadeSpeech,
  Transcript,
} from './audio.types.js';

const HEAP_MB = 512;
const TASK_TIMEOUT_MS = 600_000;
/** Callers wait for it: 30 s in all (decisions 1). */
const READING_TIMEOUT_MS = 25_000;

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Starts no process yet: they come with the first task and go 20 s after the last. */
export function createAudio(): Audio {
  // What reads containers writes notes to stderr, with words out of strangers' files; faults come as replies.
  const base = { entry: processEntry('audio.child.js'), heapMb: HEAP_MB, stderr: 'ignore' as const };
  const size = Math.max(1, Math.min(4, availableParallelism() - 1));
  const makers = new ProcessPool({ ...base, size, taskTimeoutMs: TASK_TIMEOUT_MS });
  // Callers wait for these before their job exists: they do not queue behind the making.
  const readers = new ProcessPool({ ...base, size, taskTimeoutMs: READING_TIMEOUT_MS });

  const run = async (pool: ProcessPool, task: AudioTask, options: AudioOptions = {}): Promise<unknown> => {
    try {
      return await pool.run(task, options);
    } catch (error) {
      if (error instanceof TaskError && error.fault.name === 'UnreadableAudioError')
        throw new UnreadableAudioError(error.message);
      // A file that ends the process which only looks at it is no audio that can be worked on.
      if (error instanceof ProcessDiedError && task.kind === 'probe')
        throw new UnreadableAudioError(error.message);
      throw error;
    }
  };
  const make = async <Made extends MadeAudio>(task: AudioTask, options?: AudioOptions): Promise<Made> => {
    const made = (await run(makers, task, options)) as Made;
    return { ...made, bytes: asBuffer(made.bytes) };
  };
  return {
    speak: (task, options) => make<MadeSpeech>({ kind: 'speak', ...task }, options),
    compose: (task, options) => make({ kind: 'compose', ...task }, options),
    convert: (bytes, format, options) => make({ kind: 'convert', bytes, format }, options),
    transcribe: async (task, options) =>
      (await run(makers, { kind: 'transcribe', ...task }, options)) as Transcript,
    probe: async (bytes, options) => (await run(readers, { kind: 'probe', bytes }, options)) as AudioFacts,
    close() {
      makers.close();
      readers.close();
    },
  };
}
