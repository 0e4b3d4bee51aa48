import type { Database } from '../../database/database.types.js';
import type { FileService, StoredFile } from '../files.types.js';
import { UPLOADED } from './upload.queries.js';

/** Callers name an uploaded file by it, wherever a file is taken (beyond 14.10). */
export const UPLOADED_PREFIX = 'file:';
const ID = /^file_[0-9a-z]{26}$/;

interface UploadedRow {
  id: string;
  org_id: string;
  content_type: string;
  size_bytes: string;
  extension: string;
}

/** @see FileService.uploaded */
export function createUploadedLookup(database: Pick<Database, 'tenantQuery'>): FileService['uploaded'] {
  return async (orgId, id, purpose): Promise<StoredFile | null> => {
    if (!ID.test(id)) return null;
    const [row] = await database.tenantQuery<UploadedRow>(orgId, UPLOADED, [id, purpose]);
    if (row === undefined) return null;
    return {
      id,
      orgId,
      contentType: row.content_type,
      sizeBytes: Number(row.size_bytes),
      extension: row.extension,
      width: null,
      height: null,
      durationSeconds: null,
    };
  };
}
