import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config/index.js';
import type { Database } from '../database/database.types.js';
import { makeFolder } from '../disk/make-folder.js';
import { createDiskStore } from './disk-store.js';
import { createFileHandler } from './file-handler.js';
import type { FileHandler } from './file-handler.js';
import { createFileService } from './file.service.js';
import type { FileService } from './files.types.js';
import { bindStore } from './installation.js';
import { startFileRetention } from './retention.js';
import { createUrlSigner } from './signed-url.js';
import { tidySpoolFolder } from './spool-folder.js';
import { createBodies } from './uploads/bodies.js';
import { createUploadHandler } from './uploads/upload-handler.js';
import { createUploadService } from './uploads/upload.service.js';
import type { UploadService } from './uploads/upload.service.js';
import { createUploadSigner } from './uploads/upload-url.js';
import type { FileStore } from './store.types.js';

export interface FilesOptions {
  config: Pick<Config, 'dataDir' | 'files' | 'jobs'> & { http: { publicUrl: string } };
  database: Database;
  /** The current signing secret, and the previous one during a change. */
  signing: { current: string; previous: string | null };
  logger: Logger;
}

/** Asset storage of one process. */
export interface Files {
  service: FileService;
  uploads: UploadService;
  /** For GET and HEAD under `/files/`, and for PUT of uploads. */
  handler: FileHandler;
  store: FileStore;
  /** Folder of running uploads. Files that a crashed process left there are deleted after an hour. */
  spoolFolder: string;
  /** Starts removing files of forgotten jobs. Workers do this. */
  startRetention(): void;
  close(): void;
}

/**
 * Opens the store and checks that it belongs to this installation (decisions 9).
 * @throws FileStoreError with a message for the operator
 */
export async function openFiles({ config, database, signing, logger }: FilesOptions): Promise<Files> {
  const spoolFolder = join(config.dataDir, 'files', 'incoming');
  const store = await openStore(config, spoolFolder);
  await bindStore(database, store);
  const stopTidying = await tidySpoolFolder(spoolFolder, logger);
  const signer = createUrlSigner(signing);
  const publicUrl = () => config.http.publicUrl;
  const service = createFileService({ database, store, signer, publicUrl, logger });
  const uploadSigner = createUploadSigner(signing);
  const give = createFileHandler({ store, signer, logger });
  const take = createUploadHandler({
    database,
    store,
    spoolFolder,
    signer: uploadSigner,
    bodies: createBodies(),
    remove: (orgId, ids) => service.remove(orgId, ids),
    retentionDays: config.jobs.retentionDays,
    logger,
  });
  let stop = (): void => undefined;
  return {
    service,
    uploads: createUploadService({ database, signer: uploadSigner, publicUrl }),
    handler: (request, response) =>
      uploadSigner.verify(request.url ?? '') === null ? give(request, response) : take(request, response),
    store,
    spoolFolder,
    startRetention() {
      stop();
      stop = startFileRetention({ database, store, logger });
    },
    close() {
      stop();
      stopTidying();
    },
  };
}

/** A bucket where `FILES_URL` names one, else `DATA_DIR/files`. */
async function openStore(
  { dataDir, files }: Pick<Config, 'dataDir' | 'files'>,
  spoolFolder: string,
): Promise<FileStore> {
  if (files.s3 !== null) {
    const { createS3Store } = await import('./s3-store.js'); // a client to load, only where there is a bucket
    return createS3Store(files.s3);
  }
  makeFolder(spoolFolder);
  return createDiskStore({ folder: join(dataDir, 'files'), spoolFolder });
}
