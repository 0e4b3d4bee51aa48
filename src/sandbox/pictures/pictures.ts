import { availableParallelism } from 'node:os';
import { UnreadableImageError } from '../../imaging/index.js';
import type { EditedImage } from '../../imaging/index.js';
import { processEntry, ProcessPool, TaskError } from '../../processes/index.js';
import type { EditTask } from '../edit/edit.js';
import type { PictureFacts } from '../look/look.js';

export type PictureTask = { kind: 'look'; bytes: Uint8Array } | { kind: 'edit'; task: EditTask };

/** Looks at pictures and edits them, in child processes off the event loop. Aborting a task kills the process that does it. */
export interface Pictures {
  /** What can be measured of a picture. @throws UnreadableImageError */
  look(bytes: Uint8Array, signal?: AbortSignal): Promise<PictureFacts>;
  /** One operation of contract 4.3. @throws UnreadableImageError */
  edit(task: EditTask, signal?: AbortSignal): Promise<EditedImage>;
  close(): void;
}

const HEAP_MB = 256;
/** An edit of the largest picture takes a minute and more where others use the machine. */
const EDITING_TIMEOUT_MS = 300_000;
/** A chat waits for it. */
const LOOKING_TIMEOUT_MS = 25_000;

/** Starts no process yet: they start with the first task and stop 20 s after the last. */
export function createPictures(): Pictures {
  const size = Math.max(1, Math.min(4, availableParallelism() - 1));
  const base = { entry: processEntry('sandbox-pictures.child.js'), size, heapMb: HEAP_MB };
  const editors = new ProcessPool({ ...base, taskTimeoutMs: EDITING_TIMEOUT_MS });
  const lookers = new ProcessPool({ ...base, taskTimeoutMs: LOOKING_TIMEOUT_MS });
  return {
    look: async (bytes, signal) => (await run(lookers, { kind: 'look', bytes }, signal)) as PictureFacts,
    async edit(task, signal) {
      const edited = (await run(editors, { kind: 'edit', task }, signal)) as EditedImage;
      const { buffer, byteOffset, byteLength } = edited.bytes;
      return { ...edited, bytes: Buffer.from(buffer, byteOffset, byteLength) };
    },
    close() {
      editors.close();
      lookers.close();
    },
  };
}

async function run(pool: ProcessPool, task: PictureTask, signal: AbortSignal | undefined): Promise<unknown> {
  try {
    return await pool.run(task, { signal });
  } catch (error) {
    if (error instanceof TaskError && error.fault.name === 'UnreadableImageError')
      throw new UnreadableImageError(error.message);
    throw error;
  }
}
