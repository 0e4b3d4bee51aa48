import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { ApiError, invalid } from '../../contract/errors.js';

const misfit = () => invalid('The body must be as long as its range', 'Content-Range');

/** Refuses what cannot be the bytes of its range, before any of them is read. @throws ApiError */
export function checkBody({ headers }: IncomingMessage, length: number): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity')
    throw new ApiError('unsupported_media_type', 'The bytes of a file must not be packed');
  const declared = headers['content-length'];
  if (declared !== undefined && Number(declared) !== length) throw misfit();
}

export interface ReceivedPart {
  /** Bytes that were written. */
  size: number;
  /** The connection was lost before the end. */
  isCut: boolean;
}

/**
 * Writes a body to a new file as it comes.
 * @param wanted its `length`, and how many bytes of its beginning (`skip`) are there already
 * @throws ApiError invalid_request for a body that is longer or shorter
 */
export async function spoolPart(
  request: IncomingMessage,
  path: string,
  { length, skip }: { length: number; skip: number },
): Promise<ReceivedPart> {
  const file = await open(path, 'wx');
  try {
    return await copy(request, file, { length, skip });
  } finally {
    await file.close();
  }
}

async function copy(
  request: IncomingMessage,
  file: FileHandle,
  { length, skip }: { length: number; skip: number },
): Promise<ReceivedPart> {
  let read = 0;
  let size = 0;
  try {
    // The response still needs the socket.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer;
      if (read + bytes.length > length) throw misfit();
      const fresh = bytes.subarray(Math.max(0, skip - read));
      read += bytes.length;
      if (fresh.length > 0) await file.writeFile(fresh);
      size += fresh.length;
    }
  } catch (error) {
    if (request.complete || !request.destroyed || error instanceof ApiError) throw error;
  }
  if (!request.complete) return { size, isCut: true };
  if (read !== length) throw misfit();
  return { size, isCut: false };
}
