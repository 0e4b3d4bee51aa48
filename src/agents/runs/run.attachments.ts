import { storageLimitOf } from '../../access/index.js';
import { ApiError, invalid } from '../../contract/errors.js';
import { extensionOf, inputDeadline } from '../../files/index.js';
import type { FileService, InputFetcher } from '../../files/index.js';
import type { CallContext } from '../../metering/call-context.js';
import { agentPlanOf } from '../agent.input.js';
import type { SourceDocument, KnowledgeService } from '../agents.types.js';
import type { AttachmentInput } from './run.input.js';
import type { RunAttachment } from './run.types.js';

const MAX_IMAGE_MB = 20;
const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/webp']);
/** The maximum of characters of one document. A longer text is cut, and the prompt says so. */
const MAX_TEXT = 60_000;

export interface AttachmentOptions {
  inputs: InputFetcher;
  files: FileService;
  knowledge: Pick<KnowledgeService, 'extract'>;
}

const unsupported = (): ApiError => invalid('Unsupported attachment type', 'attachments');

/**
 * Reads the attachments of a run: images are stored, documents become text.
 * @throws ApiError invalid_request `Invalid URL`, `Unsupported attachment type`, `Could not fetch url`; payload_too_large
 */
export async function readAttachments(
  { inputs, files, knowledge }: AttachmentOptions,
  call: CallContext,
  { runId, attachments }: { runId: string; attachments: AttachmentInput[] },
): Promise<RunAttachment[]> {
  const { orgId, plan } = call.principal;
  const limitBytes = storageLimitOf(plan);
  const read: RunAttachment[] = [];
  let deadline = inputDeadline();
  for (const { type, url, name } of attachments) {
    const maxMb = type === 'image' ? MAX_IMAGE_MB : agentPlanOf(plan).maxKnowledgeFileMb;
    const { bytes, contentType } = await inputs.fetch({
      orgId,
      value: url,
      field: 'url',
      maxMb,
      signal: call.signal,
      deadline,
    });
    if (type === 'image') {
      if (contentType === null || !IMAGE_TYPES.has(contentType)) throw unsupported();
      const extension = extensionOf(contentType);
      const { id } = await files.save({ orgId, runId, bytes, contentType, extension, limitBytes });
      read.push({ type, name, fileId: id, extension, contentType });
    } else {
      const from = performance.now();
      const text = await textOf(knowledge, { orgId, bytes, filename: name, signal: call.signal });
      // Waiting for a reader and reading have time limits of their own.
      deadline += performance.now() - from;
      read.push({ type, name, text });
    }
  }
  return read;
}

async function textOf(
  knowledge: Pick<KnowledgeService, 'extract'>,
  document: SourceDocument,
): Promise<string> {
  try {
    const { text, cut } = await knowledge.extract(document, MAX_TEXT);
    return cut ? `${text}\n[The document goes on; it was cut here.]` : text;
  } catch (error) {
    if (error instanceof ApiError && error.message === 'Unsupported file type') throw unsupported();
    throw error;
  }
}
