import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeFontConfig } from './fonts.js';
import type { Imaging } from './imaging.types.js';
import { ProcessPool } from './process-pool.js';

/** Beside the bundle; under the tests, which run the sources, in the repository's build. */
function entry(): string {
  const path = import.meta.url.endsWith('.ts') ? '../../dist/imaging.child.js' : './imaging.child.js';
  return fileURLToPath(new URL(path, import.meta.url));
}

/** Starts no process yet: they come with the first task and go 20 s after the last. */
export function createImaging({ config }: { config: { dataDir: string } }): Imaging {
  const size = Math.max(1, Math.min(4, availableParallelism() - 1));
  const base = { entry: entry(), size };
  let art: ProcessPool | undefined;
  const photos = new ProcessPool({ ...base, mode: 'photos', environment: {} });
  const artPool = () =>
    (art ??= new ProcessPool({
      ...base,
      mode: 'art',
      environment: { FONTCONFIG_FILE: writeFontConfig(join(config.dataDir, 'cache', 'fonts')) },
    }));
  return {
    render: async (svg, dimensions, signal) =>
      await artPool().run({ kind: 'render', svg, ...dimensions }, signal),
    fit: async (bytes, dimensions, signal) => await photos.run({ kind: 'fit', bytes, ...dimensions }, signal),
    async inspect(bytes, signal) {
      const { width, height } = await photos.run({ kind: 'inspect', bytes }, signal);
      return { width, height };
    },
    edit: async (task, signal) => await photos.run({ kind: 'edit', task }, signal),
    cutOut: async (task, signal) => await photos.run({ kind: 'cutOut', ...task }, signal),
    maskOf: async (bytes, signal) => await photos.run({ kind: 'maskOf', bytes }, signal),
    finishEdit: async (task, signal) => await photos.run({ kind: 'finishEdit', ...task }, signal),
    close() {
      art?.close();
      photos.close();
    },
  };
}
