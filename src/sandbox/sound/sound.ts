import { availableParallelism } from 'node:os';
import { UnreadableAudioError } from '../../audio/index.js';
import type { MadeAudio } from '../../audio/index.js';
import { processEntry, ProcessPool, TaskError } from '../../processes/index.js';
import type { MadeSpeech, Sound, SoundOptions, SoundTask, Transcript } from './sound.types.js';

const HEAP_MB = 512;
const TASK_TIMEOUT_MS = 600_000;

/** Starts no process yet: they start with the first task and stop 20 s after the last. */
export function createSound(): Sound {
  const pool = new ProcessPool({
    entry: processEntry('sandbox-sound.child.js'),
    heapMb: HEAP_MB,
    // The container library writes notes there with text from untrusted files. Errors come as replies.
    stderr: 'ignore',
    size: Math.max(1, Math.min(4, availableParallelism() - 1)),
    taskTimeoutMs: TASK_TIMEOUT_MS,
  });
  const run = async (task: SoundTask, options: SoundOptions = {}): Promise<unknown> => {
    try {
      return await pool.run(task, options);
    } catch (error) {
      if (error instanceof TaskError && error.fault.name === 'UnreadableAudioError')
        throw new UnreadableAudioError(error.message);
      throw error;
    }
  };
  const make = async <Made extends MadeAudio>(task: SoundTask, options?: SoundOptions): Promise<Made> => {
    const made = (await run(task, options)) as Made;
    const { buffer, byteOffset, byteLength } = made.bytes;
    return { ...made, bytes: Buffer.from(buffer, byteOffset, byteLength) };
  };
  return {
    speak: (task, options) => make<MadeSpeech>({ kind: 'speak', ...task }, options),
    compose: (task, options) => make({ kind: 'compose', ...task }, options),
    transcribe: async (task, options) => (await run({ kind: 'transcribe', ...task }, options)) as Transcript,
    close: () => pool.close(),
  };
}
