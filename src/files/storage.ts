import type { Database } from '../database/database.types.js';
import { ApiError } from '../contract/errors.js';
import { USE } from './file.queries.js';

/** What an organisation has stored. */
export interface StorageUse {
  /** Bytes of files and answers together. */
  usedBytes: number;
  fileBytes: number;
  files: number;
  /** Stored responses, and answers stored for an Idempotency-Key, for 24 hours. */
  answerBytes: number;
  answers: number;
}

/** How much organisations have stored, and whether they may store more (decisions 1, step 7). Limits are bytes; -1 is unlimited. */
export interface Storage {
  use(orgId: string): Promise<StorageUse>;
  /** The refusal of an organisation that has reached its limit, else null. For work whose size is known only after it is done and paid for. */
  fault(orgId: string, limitBytes: number): Promise<ApiError | null>;
}

/** 402 where the organisation's storage is full. */
export const storageFull = (): ApiError => new ApiError('quota_exceeded', 'Storage limit reached');

export function createStorage(database: Pick<Database, 'system'>): Storage {
  const use = async (orgId: string): Promise<StorageUse> => {
    const [row] = await database.system.query<Omit<StorageUse, 'usedBytes'>>(USE, [orgId]);
    if (row === undefined) throw new Error('a sum without a row');
    return { ...row, usedBytes: row.fileBytes + row.answerBytes };
  };
  return {
    use,
    async fault(orgId, limitBytes) {
      if (limitBytes < 0) return null;
      return (await use(orgId)).usedBytes >= limitBytes ? storageFull() : null;
    },
  };
}
