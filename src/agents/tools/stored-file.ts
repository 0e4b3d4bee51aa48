import { ApiError } from '../../contract/errors.js';
import { fileReference } from '../../files/index.js';
import type { FileService } from '../../files/index.js';
import { ToolError } from './tool.types.js';
import type { ToolContext } from './tool.types.js';

interface MadeFile {
  bytes: Uint8Array;
  contentType: string;
  extension: string;
  width?: number;
  height?: number;
}

/** Stores a file that a tool made. The step holds a reference, which is signed when it is shown; the model gets an address that it can pass on. */
export async function storeMade(
  files: FileService,
  { orgId, runId, meter }: ToolContext,
  file: MadeFile,
): Promise<{ reference: { $file: string }; url: string }> {
  const limitBytes = meter.storageLimit;
  const stored = await files.save({ orgId, runId, ...file, limitBytes }).catch((error: unknown) => {
    throw error instanceof ApiError && error.code === 'quota_exceeded'
      ? new ToolError(error.message, error)
      : error;
  });
  const { id, extension } = stored;
  return { reference: fileReference(stored), url: files.url({ orgId, id, extension }) };
}
