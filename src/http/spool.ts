import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ApiError } from '../contract/errors.js';
import { makeFolder } from '../disk/make-folder.js';
import { FormFields, malformed, openParser, repeated } from './multipart.js';

/** An upload that waits on the disk for what is made of it. */
export interface SpooledFile {
  filename: string;
  path: string;
  sizeBytes: number;
  /** Hexadecimal. */
  sha256: string;
}

export interface SpooledForm {
  /** Files of other names too, empty: whoever reads the fields refuses them. */
  fields: Record<string, string | string[]>;
  file: SpooledFile | null;
  /** Removes the file unless it was moved away. */
  release(): Promise<void>;
}

export interface SpoolOptions {
  /** Name of the form field that holds the file. */
  field: string;
  /** Folder for the file while it is uploaded; created if it does not exist. */
  folder: string;
  maxBytes: number;
  /** How a larger file is refused. */
  refusal: ApiError;
}

/** Bytes that form fields and boundaries may take besides the file. */
const FORM_BYTES = 1024 * 1024;

/**
 * Reads a multipart/form-data body and writes its file to the disk as it arrives, so that an upload needs no memory. A file over the limit is
 * refused as soon as it exceeds the limit. The file of a refused, truncated or aborted upload is deleted.
 * @throws ApiError the refusal; invalid_request `Malformed multipart body` for a truncated, broken or aborted body, `<name> must be one file` for
 * two of them
 */
export async function spoolMultipart(request: IncomingMessage, options: SpoolOptions): Promise<SpooledForm> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > options.maxBytes + FORM_BYTES) throw options.refusal;
  makeFolder(options.folder);
  const spool = new Spool(options);
  try {
    const fields = await spool.read(request);
    return { fields, file: spool.file, release: () => spool.remove() };
  } catch (error) {
    await spool.remove();
    throw error;
  }
}

const WHOLE = { nameTruncated: false, valueTruncated: false };

/** Files of running uploads: the cleaning of the spool folder must not delete them. */
const underWay = new Set<string>();
process.once('exit', () => {
  for (const path of underWay) rmSync(path, { force: true });
});

class Spool {
  file: SpooledFile | null = null;
  private readonly path: string;
  private writing: Promise<void> | null = null;

  constructor(private readonly options: SpoolOptions) {
    this.path = join(options.folder, randomBytes(12).toString('hex'));
  }

  async remove(): Promise<void> {
    await this.writing?.catch(() => undefined);
    if (this.writing !== null) await rm(this.path, { force: true });
    underWay.delete(this.path);
  }

  async read(request: IncomingMessage): Promise<SpooledForm['fields']> {
    const parser = openParser(request.headers['content-type'] ?? '');
    const fields = new FormFields();
    const stopped = new AbortController();
    await new Promise<void>((resolve, reject) => {
      const fail = (error: unknown): void => {
        request.unpipe(parser);
        stopped.abort(error);
        reject(error as Error);
      };
      const broken = (): void => fail(malformed());
      parser.on('field', (...given) => fields.add(...given) || broken());
      parser.on('file', (name, stream, { filename }) => {
        if (name !== this.options.field || this.writing !== null) {
          stream.on('error', broken).resume();
          if (name === this.options.field) fail(repeated(name));
          else if (!fields.add(name, '', WHOLE)) broken();
          return;
        }
        underWay.add(this.path);
        this.writing = this.write(stream, filename ?? '', stopped.signal);
        this.writing.catch((error: unknown) => fail(isOurs(error) ? error : malformed()));
      });
      for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit', 'error'] as const)
        parser.on(event, broken);
      // A failure goes to `fail`.
      parser.on('close', () => void (this.writing ?? Promise.resolve()).then(resolve, fail));
      request.once('error', broken);
      request.once('close', () => request.complete || broken());
      bounded(request, this.options, fail).pipe(parser);
    });
    return fields.read();
  }

  private async write(stream: Readable, filename: string, signal: AbortSignal): Promise<void> {
    const { maxBytes, refusal } = this.options;
    const hash = createHash('sha256');
    let sizeBytes = 0;
    const measure = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        sizeBytes += chunk.length;
        hash.update(chunk);
        done(sizeBytes > maxBytes ? refusal : null, chunk);
      },
    });
    await pipeline(stream, measure, createWriteStream(this.path, { flags: 'wx' }), { signal });
    this.file = { filename, path: this.path, sizeBytes, sha256: hash.digest('hex') };
  }
}

/** Whether the error is a refusal or a disk error; every other error means a malformed form. */
function isOurs(error: unknown): boolean {
  return error instanceof ApiError || (error as NodeJS.ErrnoException).syscall !== undefined;
}

/** The request, which fails when it is larger than a form with the largest file can be. */
function bounded(
  request: IncomingMessage,
  { maxBytes, refusal }: SpoolOptions,
  fail: (error: unknown) => void,
): IncomingMessage {
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes + FORM_BYTES) fail(refusal);
  });
  return request;
}
