import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Database } from '../../database/database.types.js';
import { makeFolder } from '../../disk/make-folder.js';
import { newId } from '../../contract/ids.js';
import type { FileKey, FileStore } from '../store.types.js';
import {
  ADD_PART,
  FORGET_PARTS,
  ORPHANED_PARTS_LIMIT,
  ORPHANED_PARTS,
  PARTS_OF,
  TAKE_PART,
  TAKEN_PARTS,
} from './upload.queries.js';

/** Bytes of a file's beginning that tell its type. */
const HEAD_BYTES = 4096;

export interface PartOptions {
  database: Pick<Database, 'tenantQuery'>;
  store: FileStore;
  spoolFolder: string;
}

const keyOf = (orgId: string, id: string): FileKey => ({ orgId, id, extension: 'part' });

/** The parts of unfinished uploads: objects of the file store, so that every process reaches them. */
export class Parts {
  constructor(private readonly options: PartOptions) {}

  /** A new file's path in the spool folder. */
  spoolPath(): string {
    const { spoolFolder } = this.options;
    makeFolder(spoolFolder);
    return join(spoolFolder, randomBytes(12).toString('hex'));
  }

  /** Stores a part, and makes it the file's if it follows what is there. */
  async add(
    { orgId, id: fileId }: Pick<FileKey, 'orgId' | 'id'>,
    { path, start, size }: { path: string; start: number; size: number },
  ): Promise<void> {
    const { database, store } = this.options;
    const id = newId('part');
    await database.tenantQuery(orgId, ADD_PART, [id, orgId, fileId, start, size]);
    await store.adopt(keyOf(orgId, id), path);
    const taken = await database.tenantQuery(orgId, TAKE_PART, [id]);
    if (taken.length === 0) await this.forget(orgId, [id]);
  }

  /**
   * Joins the parts of a file in the spool folder.
   * @returns where, and how the file begins; null where parts are gone, because another process was faster
   */
  async join(orgId: string, fileId: string): Promise<{ path: string; head: Buffer } | null> {
    const { database, store } = this.options;
    const rows = await database.tenantQuery<{ id: string }>(orgId, TAKEN_PARTS, [fileId]);
    const path = this.spoolPath();
    let head = Buffer.alloc(0);
    let isWhole = rows.length > 0;
    async function* bytes(): AsyncGenerator<Buffer> {
      for (const { id } of rows) {
        const part = await store.stream(keyOf(orgId, id));
        if (part === null) {
          isWhole = false;
          return;
        }
        for await (const chunk of part) {
          if (head.length < HEAD_BYTES)
            head = Buffer.concat([head, (chunk as Buffer).subarray(0, HEAD_BYTES - head.length)]);
          yield chunk as Buffer;
        }
      }
    }
    try {
      await pipeline(bytes, createWriteStream(path, { flags: 'wx' }));
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    if (isWhole) return { path, head };
    await rm(path, { force: true });
    return null;
  }

  async forgetAll(orgId: string, fileId: string): Promise<void> {
    const rows = await this.options.database.tenantQuery<{ id: string }>(orgId, PARTS_OF, [fileId]);
    await this.forget(
      orgId,
      rows.map(({ id }) => id),
    );
  }

  /** The bytes first: a row without bytes is found by the sweep. */
  private async forget(orgId: string, ids: string[]): Promise<void> {
    const { database, store } = this.options;
    for (const id of ids) await store.remove(keyOf(orgId, id));
    if (ids.length > 0) await database.tenantQuery(orgId, FORGET_PARTS, [ids]);
  }
}

/** Removes parts of uploads that were finished, refused or forgotten. @param refused is told what the store did not delete; the next sweep tries again */
export async function removeOrphanedParts(
  { system }: Pick<Database, 'system'>,
  store: FileStore,
  refused: (error: unknown, id: string) => void,
): Promise<void> {
  const kept: string[] = [];
  for (;;) {
    const rows = await system.query<{ id: string; org_id: string }>(ORPHANED_PARTS, [kept]);
    const gone: string[] = [];
    for (const { id, org_id: orgId } of rows) {
      try {
        await store.remove(keyOf(orgId, id));
        gone.push(id);
      } catch (error) {
        kept.push(id);
        refused(error, id);
      }
    }
    if (gone.length > 0) await system.query(FORGET_PARTS, [gone]);
    if (rows.length < ORPHANED_PARTS_LIMIT || gone.length === 0) return;
  }
}
