import { rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Database } from '../../database/database.types.js';
import { ApiError, invalid, notFound, toApiError } from '../../contract/errors.js';
import type { FileHandler } from '../file-handler.js';
import type { FileStore } from '../store.types.js';
import type { Bodies } from './bodies.js';
import { readContentRange } from './content-range.js';
import { Parts } from './parts.js';
import { checkBody, spoolPart } from './upload-body.js';
import { isOfType } from './upload-types.js';
import type { UploadAddress, UploadSigner } from './upload-url.js';
import { FINISH, POSITION } from './upload.queries.js';

/** A file may come in so many parts; after them the rest must come as one. */
const MAX_PARTS = 1_000;
/** What is kept at least of a part whose connection was lost: less is sent again sooner than it is stored. */
const MIN_CUT_BYTES = 65_536;

export interface UploadHandlerOptions {
  database: Pick<Database, 'tenantQuery'>;
  store: FileStore;
  spoolFolder: string;
  signer: UploadSigner;
  bodies: Bodies;
  /** Removes a file's row and bytes. */
  remove(orgId: string, ids: string[]): Promise<void>;
  /** How long a finished input is kept. */
  retentionDays: number;
  logger: Logger;
}

interface Position {
  id: string;
  orgId: string;
  extension: string;
  contentType: string;
  sizeBytes: number;
  received: number;
  parts: number;
  finished: boolean;
}

/** Takes the bytes of uploads: `PUT /files/<organisation>/<file>/upload`. The signature is the permission (beyond 14.10). */
export function createUploadHandler(options: UploadHandlerOptions): FileHandler {
  const uploads = new Uploads(options);
  return (request, response) => uploads.answer(request, response);
}

class Uploads {
  private readonly parts: Parts;

  constructor(private readonly options: UploadHandlerOptions) {
    this.parts = new Parts(options);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      sendPosition(response, await this.take(request));
    } catch (error) {
      const fault = toApiError(error);
      if (fault.code === 'server_error') this.options.logger.error({ err: error }, 'an upload failed');
      refuse(response, fault);
    }
  }

  /** @returns where the file stands afterwards */
  private async take(request: IncomingMessage): Promise<Position> {
    if (request.method !== 'PUT')
      throw new ApiError('method_not_allowed', 'Method not allowed', { headers: { Allow: 'PUT' } });
    const verdict = this.options.signer.verify(request.url ?? '');
    if (verdict === null) throw notFound();
    if (verdict.kind === 'forged') throw new ApiError('forbidden', 'Invalid or expired link');
    const { address } = verdict;
    const before = await this.position(address);
    const range = readContentRange(request.headers['content-range'], before.sizeBytes);
    if (range === null) checkBody(request, 0);
    else if (!before.finished && range.end >= before.received) await this.receive(request, before, range);
    const now = await this.position(address);
    return !now.finished && now.received === now.sizeBytes ? await this.finish(now) : now;
  }

  /** @throws ApiError not_found where it is unknown, forgotten or refused */
  private async position({ orgId, fileId }: UploadAddress): Promise<Position> {
    const [found] = await this.options.database.tenantQuery<Position>(orgId, POSITION, [fileId]);
    if (found === undefined) throw notFound();
    return found;
  }

  private async receive(
    request: IncomingMessage,
    upload: Position,
    { start, end }: { start: number; end: number },
  ): Promise<void> {
    const { received, parts, sizeBytes } = upload;
    if (start > received)
      throw new ApiError('conflict', 'This part does not follow what is there', {
        headers: standing(upload),
      });
    if (parts >= MAX_PARTS && end !== sizeBytes - 1)
      throw invalid(`A file has at most ${MAX_PARTS} parts: send the rest as one`, 'Content-Range');
    const length = end - start + 1;
    checkBody(request, length);
    const leave = this.options.bodies.acquire(upload.orgId, length);
    const path = this.parts.spoolPath();
    try {
      const { size, isCut } = await spoolPart(request, path, { length, skip: received - start });
      const isWorthIt = !isCut || (size >= MIN_CUT_BYTES && parts < MAX_PARTS);
      if (isWorthIt) await this.parts.add(upload, { path, start: received, size });
    } finally {
      leave();
      await rm(path, { force: true });
    }
  }

  /** All bytes are there. Two processes that finish at once make the same file. @throws ApiError invalid_request for a file of another type */
  private async finish(upload: Position): Promise<Position> {
    const { database, store, retentionDays } = this.options;
    const { id, orgId, extension, contentType } = upload;
    const joined = await this.parts.join(orgId, id);
    if (joined === null) {
      const now = await this.position({ orgId, fileId: id, expires: 0 });
      if (now.finished) return now;
      throw new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 });
    }
    try {
      if (!isOfType(contentType, joined.head)) {
        await this.options.remove(orgId, [id]);
        await this.parts.forgetAll(orgId, id);
        throw invalid(`The file is not of the type ${contentType}`, 'contentType');
      }
      await store.adopt({ orgId, id, extension }, joined.path);
    } finally {
      await rm(joined.path, { force: true });
    }
    await database.tenantQuery(orgId, FINISH, [id, retentionDays]);
    await this.parts.forgetAll(orgId, id);
    return { ...upload, finished: true };
  }
}

/** What is there, as `Range` says it; nothing has none. */
const standing = ({ received }: Position): Record<string, string> =>
  received === 0 ? {} : { Range: `bytes=0-${received - 1}` };

function sendPosition(response: ServerResponse, upload: Position): void {
  if (response.destroyed) return;
  const body = JSON.stringify({ file: { id: upload.id } });
  const { finished } = upload;
  response.writeHead(finished ? 200 : 308, {
    'Cache-Control': 'no-store',
    ...(finished ? { 'Content-Type': 'application/json; charset=utf-8' } : standing(upload)),
    'Content-Length': finished ? Buffer.byteLength(body) : 0,
  });
  response.end(finished ? body : undefined);
}

function refuse(response: ServerResponse, { status, code, message, details }: ApiError): void {
  if (response.destroyed || response.headersSent) return void response.destroy();
  const { param, retryAfter, headers = {} } = details;
  const body = JSON.stringify({ error: message, code, ...(param === undefined ? {} : { param }) });
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...headers,
  });
  response.end(body);
}
