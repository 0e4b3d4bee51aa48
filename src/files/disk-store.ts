import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ifMissing } from './if-missing.js';
import type { FileKey, FileStore } from './store.types.js';

const MARKER = 'installation';

export interface DiskStoreOptions {
  folder: string;
  /** On the same file system. */
  spoolFolder: string;
}

/** Files under a folder: `<organisation>/<two characters of the id>/<id>.<extension>`, written in the spool folder and renamed into place. */
export function createDiskStore({ folder, spoolFolder }: DiskStoreOptions): FileStore {
  // The end of an id is random, so its last two characters distribute the files evenly over folders.
  const pathOf = (key: FileKey) => join(folder, key.orgId, key.id.slice(-2), `${key.id}.${key.extension}`);

  const settle = async (temporary: string, path: string): Promise<void> => {
    const made = await mkdir(dirname(path), { recursive: true });
    if (made !== undefined) await syncFolder(dirname(made));
    await rename(temporary, path);
    await syncFolder(dirname(path));
  };

  const write = async (path: string, bytes: Uint8Array): Promise<void> => {
    const temporary = join(spoolFolder, randomBytes(12).toString('hex'));
    try {
      const file = await open(temporary, 'wx');
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await settle(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  };

  return {
    location: folder,
    put: async (key, bytes) => await write(pathOf(key), bytes),
    async adopt(key, path) {
      await syncFile(path);
      await settle(path, pathOf(key));
    },
    size: async (key) => await stat(pathOf(key)).then((found) => found.size, ifMissing(null)),
    read: async (key) => await readFile(pathOf(key)).catch(ifMissing(null)),
    async stream(key, range) {
      const file = await open(pathOf(key)).catch(ifMissing(null));
      return file?.createReadStream(range ?? {}) ?? null;
    },
    remove: async (key) => await rm(pathOf(key), { force: true }),
    async readInstallation() {
      const text = await readFile(join(folder, MARKER), 'utf8').catch(ifMissing(null));
      return text === null ? null : text.trim();
    },
    writeInstallation: async (id) => await write(join(folder, MARKER), Buffer.from(`${id}\n`)),
  };
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a rename survive a power cut; not every platform can open a folder. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
