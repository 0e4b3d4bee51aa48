import { sqlOf } from '../../database/index.js';
import type { Database, Sql } from '../../database/database.types.js';
import { ApiError, invalid, notFound } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { SAVE } from '../file.queries.js';
import { storageFull } from '../storage.js';
import { uploadType } from './upload-types.js';
import type { UploadSigner } from './upload-url.js';
import { AGAIN, BEGIN } from './upload.queries.js';

const MB = 1_048_576;

export const UPLOAD_PURPOSES = ['input', 'knowledge'] as const;
export type UploadPurpose = (typeof UPLOAD_PURPOSES)[number];

/** A file whose bytes may be sent. */
export interface Upload {
  id: string;
  contentType: string;
  sizeBytes: number;
  purpose: UploadPurpose;
  /** Where the bytes go, by PUT; signed, valid for a day. */
  url: string;
}

export interface NewUpload {
  orgId: string;
  contentType: string;
  sizeBytes: number;
  purpose: UploadPurpose;
  /** The largest file that the purpose takes. */
  maxMb: number;
  /** The organisation's storage, this file included; -1: no limit. */
  limitBytes: number;
  /** Binds the file's id to the call's Idempotency-Key, in the transaction that begins the upload. */
  bind(sql: Sql, fileId: string): Promise<void>;
}

/** Files whose bytes callers send themselves (beyond 14.10). */
export interface UploadService {
  /** @throws ApiError invalid_request, payload_too_large, quota_exceeded `Storage limit reached` */
  create(input: NewUpload): Promise<Upload>;
  /** An upload that was made before. @throws ApiError not_found */
  again(orgId: string, fileId: string): Promise<Upload>;
}

export interface UploadServiceOptions {
  database: Database;
  signer: UploadSigner;
  /** As {@link FileServiceOptions.publicUrl}. */
  publicUrl: () => string;
}

type Row = Omit<Upload, 'url'> & { expires: number };

export function createUploadService({ database, signer, publicUrl }: UploadServiceOptions): UploadService {
  const signed = (orgId: string, { expires, ...upload }: Row): Upload => ({
    ...upload,
    url: publicUrl() + signer.sign({ orgId, fileId: upload.id, expires }),
  });
  return {
    async create(input) {
      const { orgId, purpose, sizeBytes, limitBytes } = input;
      const { contentType, extension } = checked(input);
      const id = newId('file');
      const row = JSON.stringify({
        id,
        org_id: orgId,
        content_type: contentType,
        size_bytes: sizeBytes,
        extension,
      });
      const expires = await database.allTenants(async (em) => {
        const sql = sqlOf(em);
        const [saved] = await sql.query<{ fits: boolean }>(SAVE, [limitBytes, row]);
        if (saved?.fits !== true) throw storageFull();
        const [begun] = await sql.query<{ expires: number }>(BEGIN, [id, orgId, purpose]);
        await input.bind(sql, id);
        return begun?.expires ?? 0;
      });
      return signed(orgId, { id, contentType, sizeBytes, purpose, expires });
    },
    async again(orgId, fileId) {
      const [found] = await database.tenantQuery<Row>(orgId, AGAIN, [fileId]);
      if (found === undefined) throw notFound();
      return signed(orgId, found);
    },
  };
}

function checked({ contentType, sizeBytes, maxMb }: NewUpload) {
  const type = uploadType(contentType);
  if (type === null) throw invalid('contentType is none that can be uploaded', 'contentType');
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 1)
    throw invalid('sizeBytes must be at least 1', 'sizeBytes');
  if (sizeBytes > maxMb * MB)
    throw new ApiError('payload_too_large', `The file exceeds the maximum size of ${maxMb} MB`, {
      param: 'sizeBytes',
    });
  return type;
}
