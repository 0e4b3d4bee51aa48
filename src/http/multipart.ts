import busboy from 'busboy';
import { invalid } from '../contract/errors.js';
import type { ApiError } from '../contract/errors.js';
import type { RequestBody } from './request-body.js';
import { checkText } from './json-text.js';

/** A file of a multipart body. */
export interface UploadedFile {
  filename: string;
  bytes: Buffer;
}

export interface MultipartBody {
  /** `name[]`, and a name that comes more than once, is a list under its bare name. */
  fields: Record<string, string | string[]>;
  /** By the name of their form field. */
  files: Map<string, UploadedFile>;
}

const MAX_FIELD_BYTES = 64 * 1024;
const LIMITS = { fields: 100, files: 4, parts: 104, fieldNameSize: 100 };

export const malformed = (): ApiError => invalid('Malformed multipart body');

/** Two files under one name are an error: neither is chosen silently. */
export const repeated = (name: string): ApiError => invalid(`${name} must be one file`, name);

export function isMultipart(contentType: string | undefined): boolean {
  return /^\s*multipart\/form-data\s*(;|$)/i.test(contentType ?? '');
}

/**
 * A body of multipart/form-data that was read whole.
 * @param inPieces gives the bytes out little by little
 * @throws ApiError invalid_request `Malformed multipart body` for a truncated or broken one, `<name> must be one file` for a repeated one
 */
export async function parseMultipart(
  bytes: Buffer,
  contentType: string,
  inPieces: RequestBody['inPieces'],
): Promise<MultipartBody> {
  // A file may come as text too (base64, a data: URL), as in JSON.
  const parser = openParser(contentType, bytes.length);
  const fields = new FormFields();
  const files: MultipartBody['files'] = new Map();
  const failure = await new Promise<ApiError | null>((resolve) => {
    const broken = (): void => resolve(malformed());
    parser.on('field', (...given) => fields.add(...given) || broken());
    parser.on('file', (name, stream, { filename }) => {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('error', broken);
      stream.on('end', () => {
        if (files.has(name)) resolve(repeated(name));
        files.set(name, { filename: filename ?? '', bytes: Buffer.concat(parts) });
      });
    });
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit', 'error'] as const)
      parser.on(event, broken);
    parser.on('close', () => resolve(null));
    inPieces(bytes, (piece) => void parser.write(piece)).then(() => parser.end(), broken);
  });
  if (failure !== null) throw failure;
  return { fields: fields.read(), files };
}

/** Gathers a form's plain fields. */
export class FormFields {
  private readonly fields = Object.create(null) as MultipartBody['fields'];

  /** @returns false for a field that was cut or has no name */
  add(
    name: string,
    value: string,
    { nameTruncated, valueTruncated }: { nameTruncated: boolean; valueTruncated: boolean },
  ): boolean {
    // A part without a name has none here, whatever the types say.
    if (nameTruncated || valueTruncated || !name) return false;
    const bare = name.replace(/\[\]$/, '');
    const known = this.fields[bare];
    this.fields[bare] =
      bare === name && known === undefined ? value : [...(known === undefined ? [] : [known].flat()), value];
    return true;
  }

  /** @throws ApiError invalid_request for a NUL or a lone surrogate */
  read(): MultipartBody['fields'] {
    for (const [name, values] of Object.entries(this.fields)) {
      checkText(name);
      for (const value of [values].flat()) checkText(value, name);
    }
    return { ...this.fields };
  }
}

/** @throws ApiError invalid_request where no boundary is named */
export function openParser(contentType: string, fieldSize = MAX_FIELD_BYTES): busboy.Busboy {
  const limits = { ...LIMITS, fieldSize };
  try {
    return busboy({ headers: { 'content-type': contentType }, limits, defParamCharset: 'utf8' });
  } catch {
    throw malformed();
  }
}
