import { defineEntity, p } from '@mikro-orm/postgresql';
import type { InferEntity } from '@mikro-orm/postgresql';
import { tenantFilter } from '../database/index.js';
import type { StoredFile } from './files.types.js';

/**
 * A stored file. Its bytes are in the file store under its id. It is inserted by a statement that also checks the storage limit
 * (file.queries.ts).
 */
export const FileEntity = defineEntity({
  name: 'File',
  tableName: 'files',
  properties: {
    id: p.text().primary(),
    orgId: p.text(),
    contentType: p.text(),
    sizeBytes: p.integer().columnType('bigint'),
    extension: p.text(),
    width: p.integer().nullable(),
    height: p.integer().nullable(),
    durationSeconds: p.double().nullable(),
    /** The job or the run with which the file is removed. */
    jobId: p.text().nullable(),
    runId: p.text().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
  },
  filters: tenantFilter(),
});

export function toStoredFile(row: InferEntity<typeof FileEntity>): StoredFile {
  const { id, orgId, contentType, extension } = row;
  return {
    id,
    orgId,
    contentType,
    sizeBytes: Number(row.sizeBytes),
    extension,
    width: row.width ?? null,
    height: row.height ?? null,
    durationSeconds: row.durationSeconds == null ? null : Number(row.durationSeconds),
  };
}
