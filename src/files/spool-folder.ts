import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ifMissing } from './if-missing.js';

/** A file that was not written to for this long is abandoned. */
const STALE_MS = 3_600_000;

/**
 * Cleans the folder of half-written files, which a crashed process leaves. Deletes files that nobody has written to for an hour, now and then
 * every hour.
 * @returns a function that stops it
 */
export async function tidySpoolFolder(folder: string, logger: Logger): Promise<() => void> {
  await removeStale(folder);
  const sweep = () =>
    removeStale(folder).catch((error: unknown) =>
      logger.error({ err: error }, 'half-written files could not be removed'),
    );
  const timer = setInterval(() => void sweep(), STALE_MS);
  timer.unref();
  return () => clearInterval(timer);
}

async function removeStale(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(ifMissing([]))) {
    const found = await stat(join(folder, name)).catch(ifMissing(null));
    if (found !== null && Date.now() - found.mtimeMs > STALE_MS)
      await rm(join(folder, name), { force: true });
  }
}
