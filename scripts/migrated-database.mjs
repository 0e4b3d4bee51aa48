/** A database as the migrations make it, in an embedded PostgreSQL that is started for it: for what scripts find out about the schema. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle } from './build.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * @param {(database: {url: string, load: (name: string) => Promise<object>}) => Promise<T>} work `load` gives an entry's exports by its file's name
 * @param {string[]} entries TypeScript files that `work` loads
 * @returns {Promise<T>} @template T
 */
export async function withMigratedDatabase(work, entries = []) {
  const { pino } = await import('pino');
  const logger = pino({ level: 'silent' });
  const cache = join(root, '.cache');
  await mkdir(cache, { recursive: true });
  // Inside the checkout, so that packages resolve.
  const code = await mkdtemp(join(cache, 'migrated-'));
  const dataDir = await mkdtemp(join(tmpdir(), 'penstock-schema-'));
  const load = (name) => import(pathToFileURL(join(code, `${name}.js`)).href);
  try {
    await bundle(['src/database/index.ts', ...entries], code);
    const { migrate, useEmbeddedPostgres } = await load('index');
    const embedded = await useEmbeddedPostgres({ dataDir, logger, settings: ['fsync=off'] });
    try {
      await migrate({ url: embedded.url, logger });
      return await work({ url: embedded.url, load });
    } finally {
      await embedded.release();
    }
  } finally {
    await rm(code, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  }
}
