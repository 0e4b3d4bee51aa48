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

/** Stores what a tool made. The step holds the reference, signed where it is shown; the model reads an address it can pass on. */
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
