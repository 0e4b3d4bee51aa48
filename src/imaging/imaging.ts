import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ProcessDiedError, processEntry, ProcessPool, TaskError } from '../processes/index.js';
import type { ProcessPoolOptions } from '../processes/index.js';
import { writeFontConfig } from './fonts.js';
import { UnreadableImageError } from './imaging.types.js';
import type { Imaging, ImagingTask, RasterImage } from './imaging.types.js';

const HEAP_MB = 256;
const DRAWING_TIMEOUT_MS = 60_000;
/** The largest picture takes more than a minute on a busy machine. */
const CHANGING_TIMEOUT_MS = 300_000;
/** Callers wait for it: 30 s in all (decisions 1). */
const READING_TIMEOUT_MS = 25_000;

/** Starts no process yet: they start with the first task and stop 20 s after the last. */
export function createImaging({ config }: { config: { dataDir: string } }): Imaging {
  const size = Math.max(1, Math.min(4, availableParallelism() - 1));
  const base = { entry: processEntry('imaging.child.js'), size, heapMb: HEAP_MB };
  const pools: ProcessPool[] = [];
  const open = (options: ProcessPoolOptions): ProcessPool => {
    const pool = new ProcessPool(options);
    pools.push(pool);
    return pool;
  };
  const photos = open({ ...base, taskTimeoutMs: CHANGING_TIMEOUT_MS, args: ['photos'] });
  // Callers wait for these before their job exists, so they do not queue behind longer work.
  const readers = open({ ...base, taskTimeoutMs: READING_TIMEOUT_MS, args: ['photos'] });
  let art: ProcessPool | undefined;
  const artPool = (): ProcessPool =>
    (art ??= open({
      ...base,
      taskTimeoutMs: DRAWING_TIMEOUT_MS,
      args: ['art'],
      environment: { FONTCONFIG_FILE: writeFontConfig(join(config.dataDir, 'cache', 'fonts')) },
    }));
  return {
    render: async (svg, dimensions, signal) =>
      await run(artPool(), { kind: 'render', svg, ...dimensions }, signal),
    fit: async (bytes, dimensions, signal) =>
      await run(photos, { kind: 'fit', bytes, ...dimensions }, signal),
    async inspect(bytes, { maxPixels, signal }) {
      const { width, height } = await run(readers, { kind: 'inspect', bytes, maxPixels }, signal);
      return { width, height };
    },
    encode: async (bytes, format, signal) => await run(photos, { kind: 'encode', bytes, ...format }, signal),
    cutOut: async (task, signal) => await run(photos, { kind: 'cutOut', ...task }, signal),
    maskOf: async (bytes, signal) => await run(photos, { kind: 'maskOf', bytes }, signal),
    finishEdit: async (task, signal) => await run(photos, { kind: 'finishEdit', ...task }, signal),
    close() {
      for (const pool of pools) pool.close();
    },
  };
}

/** @throws UnreadableImageError */
async function run(
  pool: ProcessPool,
  task: ImagingTask,
  signal: AbortSignal | undefined,
): Promise<RasterImage> {
  try {
    const image = (await pool.run(task, { signal })) as RasterImage;
    const { buffer, byteOffset, byteLength } = image.bytes;
    return { ...image, bytes: Buffer.from(buffer, byteOffset, byteLength) };
  } catch (error) {
    if (error instanceof TaskError && error.fault.name === 'UnreadableImageError')
      throw new UnreadableImageError(error.message);
    // A file that kills the process which inspects it cannot be used.
    if (error instanceof ProcessDiedError && task.kind === 'inspect')
      throw new UnreadableImageError(error.message);
    throw error;
  }
}
