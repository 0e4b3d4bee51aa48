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
  /** Form field of the file. */
  field: string;
  /** Where the file is written while it comes in; made where it is absent. */
  folder: string;
  maxBytes: number;
  /** How a larger file is refused. */
  refusal: ApiError;
}

/** What form fields and boundaries may take besides the file. */
const FORM_BYTES = 1024 * 1024;

/**
 * A body of multipart/form-data whose file goes to the disk as it comes, so that an upload costs no memory. A file that is too large is
 * refused as soon as that shows; what was written of one that was refused, cut or aborted is gone then.
 * @throws ApiError the refusal; invalid_request `Malformed multipart body` for a truncated, broken or aborted body, `<name> must be one file`
 * for two of them
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

/** Of uploads under way: what a process that ends in the middle of one leaves, nobody else may take away while it may still come. */
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

/** A refusal or a fault of the disk; every other one is the form's. */
function isOurs(error: unknown): boolean {
  return error instanceof ApiError || (error as NodeJS.ErrnoException).syscall !== undefined;
}

/** The request, as long as it is not larger than a form with the file may be. */
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
