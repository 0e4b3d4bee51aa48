import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { extensionOf } from './content-types.js';
import { FileEntity, toStoredFile } from './file.entity.js';
import { SAVE, FILES_OF_FAILED_WORK } from './file.queries.js';
import { createUploadedLookup, UPLOADED_PREFIX } from './uploads/uploaded.js';
import type { FileService, StoredFile } from './files.types.js';
import type { UrlSigner } from './signed-url.js';
import { storageFull } from './storage.js';
import type { FileKey, FileStore } from './store.types.js';

const ID = /^file_[0-9a-z]{26}$/;
const REFERENCE = /^(file_[0-9a-z]{26})\.([a-z0-9]{1,8})$/;

export interface FileServiceOptions {
  database: Database;
  store: FileStore;
  signer: UrlSigner;
  /** A function, because with port 0 the address is known only when the server listens. Without a trailing slash. */
  publicUrl: () => string;
  logger: Logger;
}

/** The reference to a file in stored JSON. The APIs replace it by a signed URL with {@link FileService.sign}. */
export function fileReference(file: { id: string; extension: string }): { $file: string } {
  return { $file: `${file.id}.${file.extension}` };
}

export function createFileService({
  database,
  store,
  signer,
  publicUrl,
  logger,
}: FileServiceOptions): FileService {
  const find = async (orgId: string, id: string): Promise<StoredFile | null> => {
    if (!ID.test(id)) return null;
    const row = await database.tenant(orgId, (em) => em.findOne(FileEntity, { id }));
    return row === null ? null : toStoredFile(row);
  };
  const get = async (orgId: string, id: string): Promise<StoredFile> => {
    const file = await find(orgId, id);
    if (file === null) throw notFound();
    return file;
  };
  const url = (key: FileKey) => publicUrl() + signer.sign(key);
  const uploaded = createUploadedLookup(database);

  return {
    get,
    url,
    save: createSaving({ database, store, logger }, find),
    async read(orgId, id) {
      const bytes = await store.read(await get(orgId, id));
      if (bytes === null) throw notFound();
      return bytes;
    },
    sign: (orgId, value, at) =>
      replaceNodes(value, (node) => {
        if (typeof node === 'string')
          return at === undefined ? node : signer.renew(node, { base: publicUrl(), orgId, at });
        const reference = referenceOf(node);
        return reference === null ? undefined : url({ orgId, ...reference });
      }),
    uploaded,
    async resolveOwn(orgId, value) {
      if (value.startsWith(UPLOADED_PREFIX))
        return await uploaded(orgId, value.slice(UPLOADED_PREFIX.length), 'input');
      const base = `${publicUrl()}/files/`;
      if (!value.startsWith(base) || !URL.canParse(value)) return null;
      const { search, searchParams } = new URL(value);
      const pathname = value.slice(publicUrl().length).split(/[?#]/)[0] ?? '';
      const verdict = search === '' ? null : signer.verify(pathname, searchParams);
      return verdict?.kind === 'valid' && verdict.key.orgId === orgId
        ? await find(orgId, verdict.key.id)
        : null;
    },
    remove: (orgId, ids) => remove({ database, store, logger }, orgId, ids),
    removeFilesOfFailedWork: (orgId, workId) =>
      removeQuietly(async () => {
        const rows = await database.tenantQuery<{ id: string }>(orgId, FILES_OF_FAILED_WORK, [workId]);
        const ids = rows.map(({ id }) => id);
        await remove({ database, store, logger }, orgId, ids);
      }, logger),
  };
}

type Stored = Pick<FileServiceOptions, 'database' | 'store' | 'logger'>;

/** @see FileService.save */
function createSaving(
  stored: Stored,
  find: (orgId: string, id: string) => Promise<StoredFile | null>,
): FileService['save'] {
  const { database, store, logger } = stored;
  return async ({ jobId = null, runId = null, limitBytes = -1, ...input }) => {
    const file = describe(input);
    // The row is written before the bytes: bytes without a row could not be found after a crash. A row without bytes is removed by the sweep.
    const row = JSON.stringify({ ...rowOf(file), job_id: jobId, run_id: runId });
    const [saved] = await database.tenantQuery<{ fits: boolean }>(file.orgId, SAVE, [limitBytes, row]);
    if (saved?.fits !== true) throw storageFull();
    try {
      await ('bytes' in input ? store.put(file, input.bytes) : store.adopt(file, input.path));
    } catch (error) {
      // The bytes count towards the limit as long as the row exists.
      await removeQuietly(() => remove(stored, file.orgId, [file.id]), logger);
      throw error;
    }
    // The agent may have been deleted meanwhile, with the rows of all its files.
    if ((await find(file.orgId, file.id)) === null) await store.remove(file);
    return file;
  };
}

async function removeQuietly(removal: () => Promise<void>, logger: Logger): Promise<void> {
  await removal().catch((error: unknown) => {
    logger.warn({ err: error }, 'files of failed work could not be removed; the next sweep removes them');
  });
}

async function remove({ database, store, logger }: Stored, orgId: string, ids: string[]): Promise<void> {
  const known = ids.filter((id) => ID.test(id));
  if (known.length === 0) return;
  // The bytes are deleted first: after a crash in between there is a row without bytes, which the sweep finds (retention.ts).
  const rows = await database.tenant(orgId, (em) => em.find(FileEntity, { id: { $in: known } }));
  const gone: string[] = [];
  const removeOne = async (file: StoredFile): Promise<void> => {
    try {
      await store.remove(file);
      gone.push(file.id);
    } catch (error) {
      logger.warn(
        { err: error, fileId: file.id },
        'the file store did not delete a file; it will be tried again',
      );
    }
  };
  await Promise.all(rows.map((row) => removeOne(toStoredFile(row))));
  await database.tenant(orgId, (em) => em.nativeDelete(FileEntity, { id: { $in: gone } }));
}

function describe(input: Parameters<FileService['save']>[0]): StoredFile {
  const { orgId, contentType, extension = extensionOf(contentType) } = input;
  if (!/^[a-z0-9]{1,8}$/.test(extension)) throw new Error(`Not a file extension: ${extension}`);
  return {
    id: newId('file'),
    orgId,
    contentType,
    sizeBytes: 'bytes' in input ? input.bytes.byteLength : input.sizeBytes,
    extension,
    width: input.width ?? null,
    height: input.height ?? null,
    durationSeconds: input.durationSeconds ?? null,
  };
}

/** The columns of a file's row, as {@link SAVE} takes them. */
function rowOf(file: StoredFile) {
  return {
    id: file.id,
    org_id: file.orgId,
    content_type: file.contentType,
    size_bytes: file.sizeBytes,
    extension: file.extension,
    width: file.width,
    height: file.height,
    duration_seconds: file.durationSeconds,
  };
}

/** The file that `{"$file": "<id>.<extension>"}` refers to; null for any other value. */
function referenceOf(node: unknown): { id: string; extension: string } | null {
  if (typeof node !== 'object' || node === null) return null;
  const [only, ...more] = Object.entries(node);
  if (more.length > 0 || only?.[0] !== '$file' || typeof only[1] !== 'string') return null;
  const [, id, extension] = REFERENCE.exec(only[1]) ?? [];
  return id === undefined || extension === undefined ? null : { id, extension };
}

/** Copies a JSON value and replaces nodes. @param replace returns the replacement of a node, or undefined to descend into it */
function replaceNodes<T>(value: T, replace: (node: unknown) => string | undefined): T {
  const walk = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(walk);
    const replaced = replace(node);
    if (replaced !== undefined) return replaced;
    if (typeof node !== 'object' || node === null || node instanceof Date) return node;
    return Object.fromEntries(Object.entries(node).map(([name, child]) => [name, walk(child)]));
  };
  return walk(value) as T;
}
