import type { Database } from '../database/database.types.js';
import { InstallationEntity, sqlOf } from '../database/index.js';
import { BIND_STORE } from './file.queries.js';
import type { FileStore } from './store.types.js';

/** A store that does not belong to this installation: the process must not start on it. The message is for the operator. */
export class FileStoreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FileStoreError';
  }
}

/**
 * Makes sure that database and store belong together: the installation's id stands in both. The first process of a new installation
 * binds its store; every later one must find the id there, so that a worker with another folder does not write files nobody can read.
 *
 * @throws FileStoreError
 */
export async function bindStore(database: Database, store: FileStore): Promise<void> {
  const found = await store.readInstallation();
  // Simultaneous first starts wait for each other at the insert of this row.
  await database.allTenants(async (em) => {
    const installation = await em.findOne(InstallationEntity, { onlyOne: true });
    if (installation === null)
      throw new FileStoreError('The database names no installation: run the migrations first');
    const [bound] = await sqlOf(em).query(BIND_STORE, [installation.id]);
    const marker = found ?? (await store.readInstallation());
    if (marker === installation.id) return;
    if (marker !== null)
      throw new FileStoreError(
        `The files in ${store.location} belong to another installation (${marker}, the database is ${installation.id})`,
      );
    if (bound === undefined)
      throw new FileStoreError(
        `The file store ${store.location} is not this installation's (${installation.id}): it lacks the installation's id. ` +
          'Every process needs the same store: set DATA_DIR or FILES_URL to it',
      );
    await store.writeInstallation(installation.id);
  });
}
